// SPDX-License-Identifier: Apache-2.0

internal import CSandbox
internal import DivanSystem

/// The lines of standard input and output.
///
/// One thread uses it. An output that is closed ends the process: the parent is gone.
final class StandardLines {
    private var unread: [UInt8] = []
    private var start = 0
    private var piece = [UInt8](repeating: 0, count: 1 << 16)
    private let seconds: UInt32

    /// Reads lines, for each of which the process may compute so long.
    init(seconds: UInt32) { self.seconds = seconds }

    /// The next line, with a zero in place of its end; nil at the end of the input.
    ///
    /// From now on the time for it counts, be it a command or a row of a list.
    func next() -> [UInt8]? {
        guard let line = read() else { return nil }
        divan_sandbox_limit_time(seconds)
        return line
    }

    private func read() -> [UInt8]? {
        var looked = start
        while true {
            if let end = unread[looked...].firstIndex(of: UInt8(ascii: "\n")) {
                let line = unread[start..<end] + [0]
                start = end + 1
                return Array(line)
            }
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

    /// Writes a line, or several.
    func write(_ line: [UInt8]) {
        do {
            try Self.send(line + [UInt8(ascii: "\n")], to: Descriptors.standardOutput)
        } catch {
            CurrentProcess.exitAtOnce(0)
        }
    }

    private static func send(_ bytes: [UInt8], to descriptor: Int32) throws(SystemError) {
        try Descriptors.writeAll(bytes.span, to: descriptor)
    }
}
