// SPDX-License-Identifier: Apache-2.0

internal import CSandbox
internal import DivanSystem

/// The lines of standard input and output.
///
/// One thread uses it. An output that is closed ends the process: the parent is gone.
final class StandardLines {
    /// So many bytes of answers wait at most, and so long.
    private static let (mostWaiting, longestWait) = (32 << 10, Duration.milliseconds(5))
    /// How often the limit of time is set anew: more often is not needed, since it counts whole seconds.
    private static let limitInterval = Duration.milliseconds(500)

    private var unread: [UInt8] = []
    private var start = 0
    private var piece = [UInt8](repeating: 0, count: 1 << 16)
    private var answers: [UInt8] = []
    private var sentAt = ContinuousClock.now
    private var limitedAt: ContinuousClock.Instant?
    private let seconds: UInt32

    /// Reads lines, for each of which the process may compute so long.
    init(seconds: UInt32) { self.seconds = seconds }

    /// The next line, with a zero in place of its end; nil at the end of the input.
    ///
    /// From now on the time for it counts, be it a command or a row of a list.
    func next() -> ArraySlice<UInt8>? {
        guard let line = read() else { return nil }
        limitTime()
        return line
    }

    /// Begins the time anew in which the process may compute.
    func limitTime() {
        let now = ContinuousClock.now
        guard limitedAt.map({ now - $0 >= Self.limitInterval }) ?? true else { return }
        limitedAt = now
        divan_sandbox_limit_time(seconds)
    }

    private func read() -> ArraySlice<UInt8>? {
        var looked = start
        while true {
            if let end = unread[looked...].firstIndex(of: UInt8(ascii: "\n")) {
                unread[end] = 0
                defer { start = end + 1 }
                return unread[start...end]
            }
            // Nothing is left to do, so the parent gets all answers.
            flush()
            unread.removeFirst(start)
            start = 0
            looked = unread.count
            guard let count = try? Descriptors.readSome(Descriptors.standardInput, into: &piece),
                count > 0
            else { return nil }
            unread += piece[..<count]
        }
    }

    /// Writes a line to standard error. Where it cannot be written, the exit status tells.
    static func writeError(_ sentence: String) {
        try? send(Array("\(sentence)\n".utf8), to: Descriptors.standardError)
    }

    /// Writes a line, or several: at once, unless the next command is there, too.
    func write(_ line: [UInt8]) {
        answers += line
        answers.append(UInt8(ascii: "\n"))
        let isLate = ContinuousClock.now - sentAt >= Self.longestWait
        if answers.count >= Self.mostWaiting || isLate { flush() }
    }

    /// Sends the answers that wait.
    func flush() {
        sentAt = .now
        guard !answers.isEmpty else { return }
        do {
            try Self.send(answers, to: Descriptors.standardOutput)
        } catch {
            CurrentProcess.exitAtOnce(0)
        }
        answers.removeAll(keepingCapacity: true)
    }

    private static func send(_ bytes: [UInt8], to descriptor: Int32) throws(SystemError) {
        try Descriptors.writeAll(bytes.span, to: descriptor)
    }
}
