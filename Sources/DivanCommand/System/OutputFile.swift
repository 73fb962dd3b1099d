// SPDX-License-Identifier: Apache-2.0

internal import DivanSystem
internal import FoundationEssentials

/// A file that is written beside its final name and takes that name when it is whole.
///
/// So an export that fails or is interrupted leaves what was there before. What a symbolic link leads to is replaced, and not
/// the link. A pipe or a device is written as it is.
struct OutputFile {
    let sink: ByteSink
    private let path: String
    /// Where it is written; nil for a pipe or a device.
    private let temporaryPath: String?
    private let descriptor: Int32

    init(_ path: String) throws(CommandFailure) {
        let status = Files.status(of: path)
        let isSpecial = status?.kind == .other
        self.path =
            status == nil || isSpecial
            ? path : URL(filePath: path).resolvingSymlinksInPath().path(percentEncoded: false)
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
    }

    /// Gives the file its name.
    func finish() throws(CommandFailure) {
        do { try sink.flush() } catch {
            discard()
            throw error
        }
        do {
            guard let temporaryPath else { return Descriptors.close(descriptor) }
            // Before the name: after a power cut it would stand for a file without its content.
            try Descriptors.synchronise(descriptor)
            Descriptors.close(descriptor)
            try Files.rename(temporaryPath, to: path)
        } catch {
            if let temporaryPath { Files.removeFile(temporaryPath) }
            throw CommandFailure(.failure, "\(path) cannot be written: \(error.reason).")
        }
    }

    /// Removes what was written.
    func discard() {
        Descriptors.close(descriptor)
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
