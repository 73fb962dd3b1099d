// SPDX-License-Identifier: Apache-2.0

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
            descriptor = try SystemCalls.openForWriting(temporaryPath)
        } catch {
            throw CommandFailure(.failure, "\(path) cannot be written: \(error).")
        }
        sink = ByteSink(descriptor: descriptor)
    }

    /// Gives the file its name.
    func finish() throws(CommandFailure) {
        try sink.flush()
        SystemCalls.closeFile(descriptor)
        do {
            try SystemCalls.renameFile(temporaryPath, to: path)
        } catch {
            SystemCalls.removeFile(temporaryPath)
            throw CommandFailure(.failure, "\(path) cannot be written: \(error).")
        }
    }

    /// Removes what was written.
    func discard() {
        SystemCalls.closeFile(descriptor)
        SystemCalls.removeFile(temporaryPath)
    }

    static func write(_ text: String, to path: String) throws(CommandFailure) {
        let file = try OutputFile(path)
        do {
            try file.sink.write(text)
        } catch {
            file.discard()
            throw error
        }
        try file.finish()
    }
}
