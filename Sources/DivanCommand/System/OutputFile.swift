// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanSystem
internal import FoundationEssentials

/// A file that is written beside its final name and takes that name when it is whole.
///
/// So an export that fails or is interrupted leaves what was there before. A file that is replaced keeps its permissions. What
/// a symbolic link leads to is replaced, and not the link. A pipe or a device is written as it is, and so is what the process
/// was started with: `/dev/stdout` may lead to a file that others have written to, and go on to. What a process left that was
/// killed goes with the next file of the same name; see `PartialFile`.
struct OutputFile {
    let sink: ByteSink
    private let path: String
    /// What is written; nil for what the process was started with.
    private let file: FileHandle?
    /// Whether the file is to take its name.
    private let isPartial: Bool

    init(_ path: String) throws(CommandFailure) {
        if let descriptor = Self.descriptor(namedBy: path) {
            (self.path, file, isPartial) = (path, nil, false)
            sink = ByteSink(descriptor: descriptor)
            return
        }
        let status = Files.status(of: path)
        if status?.kind == .directory {
            throw CommandFailure(.failure, "\(path) cannot be written: it is a directory.")
        }
        isPartial = status?.kind != .other
        self.path = isPartial ? Self.target(of: path) : path
        let file: FileHandle
        do {
            file =
                try isPartial
                ? PartialFile.make(beside: self.path)
                : FileHandle(anyKindAt: path, [.write, .waits])
        } catch {
            throw CommandFailure(.failure, "\(path) cannot be written: \(error.reason).")
        }
        self.file = file
        sink = ByteSink(descriptor: file.descriptor)
        guard isPartial, status != nil else { return }
        let former = try? FileManager.default.attributesOfItem(atPath: self.path)
        if let permissions = former?[.posixPermissions] {
            try? FileManager.default.setAttributes(
                [.posixPermissions: permissions], ofItemAtPath: file.path)
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

    /// Gives the file its name.
    func finish() throws(CommandFailure) {
        do { try sink.flush() } catch {
            discard()
            throw error
        }
        guard isPartial, let file else { return }
        do {
            // Before the name: after a power cut it would stand for a file without its content.
            try file.synchronise()
            try Files.rename(file.path, to: path)
        } catch {
            discard()
            throw CommandFailure(.failure, "\(path) cannot be written: \(error.reason).")
        }
    }

    /// Removes what was written.
    func discard() {
        if isPartial, let file { Files.removeFile(file.path) }
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
