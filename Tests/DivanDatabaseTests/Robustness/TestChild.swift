// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A process of the program `DivanTestChild`, spoken to in lines over its input and output.
final class TestChild {
    let process: pid_t
    /// Negative once closed.
    private var input: Int32
    private let output: Int32
    private var buffer: [UInt8] = []
    private var status: Int32?

    /// Whether a child of this process may become another user; it is tried once.
    static let mayBecomeNobody: Bool = {
        guard let child = try? TestChild("nobody", "/nowhere", "/nowhere") else { return false }
        let lines = child.readLines()
        return child.wait() == 0 && lines != ["skipped"]
    }()

    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    /// Starts the program.
    convenience init(_ arguments: String...) throws {
        try self.init(arguments[0], arguments: Array(arguments.dropFirst()))
    }

    /// Starts the program in a mode.
    init(_ mode: String, arguments: [String]) throws {
        var toChild: [Int32] = [0, 0]
        var fromChild: [Int32] = [0, 0]
        guard pipe(&toChild) == 0, pipe(&fromChild) == 0 else { throw Failure(description: "pipe") }
        // Other children must not inherit these ends, or no reader would see their end.
        for end in toChild + fromChild { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer {
            _ = close(toChild[0])
            _ = close(fromChild[1])
        }
        input = toChild[1]
        output = fromChild[0]
        process = try ChildProcess(
            TestProgram.path, [mode] + arguments, input: .descriptor(toChild[0]),
            output: .descriptor(fromChild[1])
        ).identifier
    }

    deinit {
        if status == nil {
            kill()
            _ = wait()
        }
        closeInput()
        _ = close(output)
    }

    // MARK: - Lines

    /// Says a line and returns the answer.
    func ask(_ line: String) throws -> String? {
        try say(line)
        return readLine()
    }

    /// Says a line.
    func say(_ line: String) throws {
        let bytes = Array((line + "\n").utf8)
        guard write(input, bytes, bytes.count) == bytes.count else {
            throw Failure(description: "The child does not listen.")
        }
    }

    /// Returns its next line, or nil at the end, also when it says nothing for a minute.
    func readLine() -> String? {
        while true {
            if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                defer { buffer.removeSubrange(...end) }
                return String(decoding: buffer[..<end], as: UTF8.self)
            }
            guard readMore() else { return nil }
        }
    }

    /// Returns its next lines, up to one that is the so-manieth with a beginning: how far it comes in a
    /// time is a matter of the machine, and how far it has come is not.
    func readLines(through count: Int, _ beginning: String) -> [String] {
        var lines: [String] = []
        var left = count
        while left > 0, let line = readLine() {
            lines.append(line)
            if line.hasPrefix(beginning) { left -= 1 }
        }
        return lines
    }

    /// Returns all its lines up to the end; a line without an end is none.
    func readLines() -> [String] {
        while readMore() {}
        let lines = buffer.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        return lines.dropLast().map { String(decoding: $0, as: UTF8.self) }
    }

    /// Kills it after a delay and returns its lines up to the end.
    ///
    /// The thread that reads them watches the time as well: one of a pool may come seconds late while
    /// other tests keep the pool busy, and a kill that is late hits nothing half done.
    func readLines(killingAfterMicroseconds delay: Int) -> [String] {
        let moment = ContinuousClock.now + .microseconds(delay)
        while microseconds(until: moment) >= 1_000,
            readMore(within: Int32(clamping: microseconds(until: moment) / 1_000))
        {}
        usleep(UInt32(clamping: microseconds(until: moment)))
        kill()
        return readLines()
    }

    private func microseconds(until moment: ContinuousClock.Instant) -> Int {
        Int((moment - .now) / .microseconds(1))
    }

    /// Returns false at the end, and when nothing comes within a time in milliseconds.
    private func readMore(within patience: Int32 = 60_000) -> Bool {
        var ready = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
        while true {
            let count = poll(&ready, 1, patience)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return false }
            break
        }
        var piece = [UInt8](repeating: 0, count: 65_536)
        let count = read(output, &piece, piece.count)
        guard count > 0 else { return false }
        buffer += piece.prefix(count)
        return true
    }

    // MARK: - Ending

    /// Kills it, as no process can prevent.
    func kill() { _ = Self.system_kill(process, SIGKILL) }

    /// Waits for its end and returns its exit code; a signal is its number below zero.
    func wait() -> Int32 {
        if let status { return status }
        var raw: Int32 = 0
        while waitpid(process, &raw, 0) < 0 && errno == EINTR {}
        let signal = raw & 0x7F
        let code = signal == 0 ? raw >> 8 & 0xFF : -signal
        status = code
        return code
    }

    /// Ends its input and waits for its end.
    func finish() -> Int32 {
        closeInput()
        _ = readLines()
        return wait()
    }

    private func closeInput() {
        if input >= 0 { _ = close(input) }
        input = -1
    }

    private static func system_kill(_ process: pid_t, _ signal: Int32) -> Int32 {
        #if canImport(Glibc)
        Glibc.kill(process, signal)
        #else
        Darwin.kill(process, signal)
        #endif
    }
}
