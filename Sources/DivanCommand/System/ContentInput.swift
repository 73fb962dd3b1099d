// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanSystem
internal import Synchronization

/// The content of a file on its way into a database, with a progress bar and an eye on Control-C.
final class ContentInput: AttachmentReader {
    /// The length, if it is known.
    private let length: Int?
    private let path: String
    private let descriptor: Int32
    private let interruption: Interruption
    private let bar: DelayedProgress

    /// Opens a file, or with "-" standard input.
    init(_ path: String, _ bar: DelayedProgress, _ interruption: Interruption)
        throws(CommandFailure)
    {
        self.bar = bar
        self.path = path
        self.interruption = interruption
        if path == "-" {
            descriptor = Descriptors.standardInput
        } else {
            do {
                descriptor = try Descriptors.open(path, [.read, .waits])
            } catch {
                let status: ExitCode = error.isMissing ? .notFound : .failure
                throw CommandFailure(status, "\(path) cannot be opened: \(error.reason).")
            }
        }
        length = Descriptors.regularFileSize(descriptor)
    }

    deinit {
        if descriptor != Descriptors.standardInput { Descriptors.close(descriptor) }
    }

    func read(upTo count: Int) throws -> [UInt8] {
        try interruption.check()
        var buffer = [UInt8](repeating: 0, count: count)
        let got: Int
        do throws(SystemError) {
            got = try Descriptors.readSome(descriptor, into: &buffer)
        } catch {
            throw CommandFailure(.failure, "\(path) cannot be read: \(error.reason).")
        }
        buffer.removeLast(count - got)
        bar.advance(by: got, of: length)
        return buffer
    }
}

/// A progress bar that comes only when the work takes longer than a second.
final class DelayedProgress: Sendable {
    private static let patience = Duration.seconds(1)

    private let bar: ProgressBar
    private let start = ContinuousClock.now
    private let completed = Atomic(0)

    init(_ title: String, _ output: Output) {
        bar = ProgressBar(title, noun: "", output: output)
    }

    /// Notes that so many more bytes are done.
    func advance(by count: Int, of total: Int?) {
        let done = completed.add(count, ordering: .relaxed).newValue
        guard ContinuousClock.now - start >= Self.patience else { return }
        bar.update(completed: done, total: total)
    }

    /// Removes the bar.
    func finish() { bar.finish() }
}
