// SPDX-License-Identifier: Apache-2.0

internal import CLibrary

extension Files {
    /// How much of a file is copied at a time.
    private static let copyStep = 1 << 20

    /// Gives a file that is never changed a second name, or copies it where that cannot be done.
    ///
    /// A copy is forced to the disk. The names are not: the directory must be synchronised after.
    package static func linkOrCopy(_ from: String, to: String) throws(SystemError) {
        do throws(SystemError) {
            return try link(from, to: to)
        } catch {
            // Another file system, one without links, too many of them, or a file of another user.
            let isRefused = [EXDEV, EPERM, EMLINK, ENOTSUP, EACCES, ENOSYS].contains(error.number)
            guard isRefused else { throw error }
        }
        try copy(from, to: to)
    }

    /// Copies the content of a file to a new one, and forces it to the disk.
    package static func copy(_ from: String, to: String) throws(SystemError) {
        let source = try FileHandle(path: from, .read)
        let target = try FileHandle(path: to, [.write, .new])
        var offset = 0
        while true {
            let piece = try source.read(at: offset, upTo: copyStep)
            if piece.isEmpty { break }
            try target.write(piece)
            offset += piece.count
        }
        try target.synchronise()
    }
}
