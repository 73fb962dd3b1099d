// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanSystem
internal import FoundationEssentials

/// A file that is written beside its final name and takes that name when it is whole.
///
/// So an export that fails or is interrupted leaves what was there before. A file that is replaced keeps its permissions. What
/// a symbolic link leads to is replaced, and not the link. A pipe or a device is written as it is, and so is what the process
/// was started with: `/dev/stdout` may lead to a file that others have written to, and go on to.
struct OutputFile {
    let sink: ByteSink
    private let path: String
    /// Where it is written; nil for a pipe or a device.
    private let temporaryPath: String?
    private let descriptor: Int32
    private let isOwned: Bool

    init(_ path: String) throws(CommandFailure) {
        if let descriptor = Self.descriptor(namedBy: path) {
            (self.path, temporaryPath, self.descriptor, isOwned) = (path, nil, descriptor, false)
            sink = ByteSink(descriptor: descriptor)
            return
        }
        isOwned = true
        let status = Files.status(of: path)
        if status?.kind == .directory {
            throw CommandFailure(.failure, "\(path) cannot be written: it is a directory.")
        }
        let isSpecial = status?.kind == .other
        self.path = isSpecial ? path : Self.target(of: path)
        // A name of its own: another process may write a file of the same name.
        temporaryPath =
            isSpecial ? nil : "\(self.path).\(UInt32.random(in: 0 ... .max)).partial"
        do {
            descriptor = try Descriptors.open(
                temporaryPath ?? path,
                isSpecial ? [.write, .waits] : [.write, .new, .waits], permissions: 0o666)
        } catch {
            throw CommandFailure(.failure, "\(path) cannot be written: \(error.reason).")
        }
        sink = ByteSink(descriptor: descriptor)
        guard let temporaryPath, status != nil else { return }
        let former = try? FileManager.default.attributesOfItem(atPath: self.path)
        if let permissions = former?[.posixPermissions] {
            try? FileManager.default.setAttributes(
                [.posixPermissions: permissions], ofItemAtPath: temporaryPath)
        }
    }

    /// The open descriptor that a path names; nil for any other path.
    private static func descriptor(namedBy path: String) -> Int32? {
        if path.hasSameBytes(as: "/dev/stdout") { return 1 }
        if path.hasSameBytes(as: "/dev/stderr") { return 2 }
        for folder in ["/dev/fd/", "/proc/self/fd/"] where path.hasBytePrefix(folder) {
            return Int32(path.dropFirst(folder.count), radix: 10)
        }
        return nil
    }

    /// What a path leads to by symbolic links, the last of which may lead to nothing yet.
    private static func target(of path: String) -> String {
        var place = path
        // As many as the system follows.
        for _ in 0..<40 {
            guard let next = try? FileManager.default.destinationOfSymbolicLink(atPath: place)
            else { return place }
            // Joined as text: what ".." leads to depends on the links before it, which the system follows.
            place = next.hasBytePrefix("/") ? next : Files.parent(of: place) + "/" + next
        }
        return path
    }

    private func close() {
        if isOwned { Descriptors.close(descriptor) }
    }

    /// Gives the file its name.
    func finish() throws(CommandFailure) {
        do { try sink.flush() } catch {
            discard()
            throw error
        }
        do {
            guard let temporaryPath else { return close() }
            // Before the name: after a power cut it would stand for a file without its content.
            try Descriptors.synchronise(descriptor)
            close()
            try Files.rename(temporaryPath, to: path)
        } catch {
            if let temporaryPath { Files.removeFile(temporaryPath) }
            throw CommandFailure(.failure, "\(path) cannot be written: \(error.reason).")
        }
    }

    /// Removes what was written.
    func discard() {
        close()
        if let temporaryPath { Files.removeFile(temporaryPath) }
    }

    static func write(_ text: String, to path: String) throws(CommandFailure) {
        try write(Array(text.utf8), to: path)
    }

    static func write(_ bytes: [UInt8], to path: String) throws(CommandFailure) {
        let file = try OutputFile(path)
        do {
            try file.sink.write(bytes)
        } catch {
            file.discard()
            throw error
        }
        try file.finish()
    }
}
