// SPDX-License-Identifier: Apache-2.0

internal import DivanSystem

/// A file that is written beside its final name and takes that name when it is whole.
///
/// So an export that fails or is interrupted leaves what was there before.
struct OutputFile {
    let sink: ByteSink
    private let path: String
    private let temporaryPath: String
    private let descriptor: Int32

    init(_ path: String) throws(CommandFailure) {
        self.path = path
        temporaryPath = path + ".partial"
        do {
            descriptor = try Descriptors.open(
                temporaryPath, [.write, .create, .empty, .waits], permissions: 0o666)
        } catch {
            throw CommandFailure(.failure, "\(path) cannot be written: \(error.reason).")
        }
        sink = ByteSink(descriptor: descriptor)
    }

    /// Gives the file its name.
    func finish() throws(CommandFailure) {
        try sink.flush()
        Descriptors.close(descriptor)
        do {
            try Files.rename(temporaryPath, to: path)
        } catch {
            Files.removeFile(temporaryPath)
            throw CommandFailure(.failure, "\(path) cannot be written: \(error.reason).")
        }
    }

    /// Removes what was written.
    func discard() {
        Descriptors.close(descriptor)
        Files.removeFile(temporaryPath)
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
