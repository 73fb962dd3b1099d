// SPDX-License-Identifier: Apache-2.0

// The content of whole files.
extension Files {
    /// The most that `read` returns: it is meant for small files, such as manifests.
    private static let largestRead = 1 << 20

    /// Returns the content of a file, or its first megabyte.
    package static func read(_ path: String) throws(SystemError) -> [UInt8] {
        let file = try FileHandle(path: path, .read)
        // Memory for the megabyte was a tenth of what opening a database cost.
        return try file.read(at: 0, upTo: min(file.length ?? largestRead, largestRead))
    }

    /// Writes a file so that a crash leaves either the old content or the new, whole and on disk.
    ///
    /// The new content is written under a name of its own, so that two threads or processes that
    /// replace one file at the same time do not write into the same file; the last one to rename wins.
    package static func replace(_ path: String, with bytes: [UInt8]) throws(SystemError) {
        let temporary = path + temporaryMark + RandomBytes.name()
        do throws(SystemError) {
            let file = try FileHandle(path: temporary, [.write, .new])
            try file.write(bytes)
            try file.synchronise()
            try rename(temporary, to: path)
        } catch {
            try? remove(temporary)
            throw error
        }
        try synchroniseDirectory(parent(of: path))
    }

    /// A part of the name of a file that `replace` has not renamed yet.
    package static let temporaryMark = ".new-"

    /// Makes an empty file, if there is none.
    package static func touch(_ path: String) throws(SystemError) {
        _ = try FileHandle(path: path, [.write, .create])
    }
}
