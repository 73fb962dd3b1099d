// SPDX-License-Identifier: Apache-2.0

package import DivanDesign
internal import DivanJSON
internal import DivanSystem
internal import Synchronization

/// A process that runs scripts, and the conversation with it: a command goes out, an answer comes back.
///
///     ask ──► send ⇄ receive ──► a line that is no log line: the answer
///               │
///               ├─ the deadline passes              the process is killed, timeLimit
///               ├─ every 20 ms: too much memory?    the process is killed, memoryLimit
///               ├─ more bytes than allowed          the process is killed, answerLimit
///               └─ the process ended                what its end says
///
/// After any of these the worker is over, and another one takes its place. An error that a script makes is an answer: the worker goes on.
///
/// State: the bytes that were received and not looked at, guarded by the mutex, which is held during a command.
package final class ScriptWorker: ScriptProcess {
    /// How often memory is looked at. A script allocates some 50 MB in this time.
    private static let watch = Duration.milliseconds(20)
    /// How long the process may take to start, beside the time of the first command, on a machine that has other things to
    /// do.
    private static let patience = Duration.seconds(60)

    private struct State {
        var unread: [UInt8] = []
        /// How many of them have been taken.
        var taken = 0
        /// How many of them have been taken, or have no end of a line.
        var looked = 0
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        var lookedAt = ContinuousClock.now
        /// Whether the process has said something, and so has started.
        var hasSpoken = false
        var isOver = false

        /// Takes the next line, without its end; nil when it is not whole yet.
        mutating func nextLine() -> [UInt8]? {
            guard let end = unread[looked...].firstIndex(of: UInt8(ascii: "\n")) else {
                unread.removeFirst(taken)
                (taken, looked) = (0, unread.count)
                return nil
            }
            defer { (taken, looked) = (end + 1, end + 1) }
            return Array(unread[taken..<end])
        }
    }

    private let process: PairedProcess
    private let command: WorkerCommand
    private let limits: JavaScriptLimits
    /// What the process may have of memory: what the engine takes, and what scripts may.
    private let mostMemory: Int
    private let state = Mutex(State())

    /// Starts a worker.
    ///
    /// - Parameters:
    ///   - command: The program.
    ///   - limits: What scripts may take.
    /// - Throws: `ScriptError.Code.unavailable` when the program does not start.
    init(_ command: WorkerCommand, limits: JavaScriptLimits) throws(ScriptError) {
        do {
            process = try PairedProcess(
                command.program, command.arguments, environment: command.environment)
        } catch {
            throw .noProgram(command)
        }
        self.command = command
        self.limits = limits
        mostMemory = (limits.megabytes + 24) << 20
    }

    /// Starts `divan-javascript`.
    ///
    /// - Parameters:
    ///   - program: Its path.
    ///   - engine: What runs the scripts.
    ///   - limits: What scripts may take.
    /// - Throws: `ScriptError.Code.unavailable` when it does not start.
    package convenience init(
        program: String, engine: JavaScriptEngine, limits: JavaScriptLimits
    ) throws(ScriptError) {
        try self.init(.javaScript(program, engine, limits), limits: limits)
    }

    /// The number of the process.
    package var processNumber: Int32 { process.number }

    /// Whether the process is to be used no more.
    package var isOver: Bool { state.withLock { $0.isOver } }

    /// Whether it waits for a command: one that says something now, or has ended, is of no use.
    package var isReady: Bool { !isOver && !process.wait(orRoom: false, milliseconds: 0) }

    /// Ends the process.
    package func end() {
        process.end()
        state.withLock { $0.isOver = true }
    }

    /// Sends commands and waits for the answers; see ``ScriptProcess``.
    ///
    /// Each answer has the whole time of a command, and all together may have as many bytes as one may.
    package func ask(_ lines: [UInt8], count: Int) throws(ScriptError) -> [ScriptAnswer] {
        try state.withLock { state throws(ScriptError) in
            guard !state.isOver else { throw .workerFailed }
            do throws(ScriptError) {
                return try converse(lines, count, &state)
            } catch  where error.code == .script && count == 1 {
                throw error
            } catch {
                // The answers to the other commands are of no use.
                state.isOver = true
                process.end()
                throw error
            }
        }
    }

    private func converse(
        _ lines: [UInt8], _ count: Int, _ state: inout State
    ) throws(ScriptError) -> [ScriptAnswer] {
        var deadline =
            ContinuousClock.now + limits.time.bounded + (state.hasSpoken ? .zero : Self.patience)
        var answers: [ScriptAnswer] = []
        var answer = ScriptAnswer()
        var sent = 0
        var received = state.unread.count
        while true {
            let known = answers.count
            while let text = state.nextLine() {
                state.hasSpoken = true
                guard try answer.take(text) else { continue }
                answers.append(answer)
                if answers.count == count { return answers }
                answer = ScriptAnswer()
            }
            if answers.count > known { deadline = ContinuousClock.now + limits.time.bounded }
            guard received <= limits.answer else { throw .answerLimit(limits.answer) }
            try wait(until: deadline, orRoom: sent < lines.count, &state)
            if sent < lines.count { sent += send(lines.span.extracting(droppingFirst: sent)) }
            received += try receive(&state)
        }
    }

    /// Sends what there is room for. To a process that has ended nothing can be sent; what it said before is still to be received,
    /// and then its end.
    private func send(_ bytes: Span<UInt8>) -> Int {
        do {
            return try process.send(bytes)
        } catch {
            return bytes.count
        }
    }

    /// Waits until the process has something to say or takes more; looks at its memory from time to time.
    private func wait(
        until deadline: ContinuousClock.Instant, orRoom: Bool, _ state: inout State
    ) throws(ScriptError) {
        while true {
            let now = ContinuousClock.now
            guard now < deadline else { throw .timeLimit(limits.time) }
            if now - state.lookedAt >= Self.watch {
                state.lookedAt = now
                if let memory = process.ownMemory, memory > mostMemory {
                    throw .memoryLimit(limits.megabytes)
                }
            }
            let pause = min(deadline - now, Self.watch)
            // Rounded up, so that it does not spin in the last millisecond.
            let milliseconds = Int(pause / .milliseconds(1)) + 1
            if process.wait(orRoom: orRoom, milliseconds: milliseconds) { return }
        }
    }

    /// Takes what has come; throws when the process has ended.
    private func receive(_ state: inout State) throws(ScriptError) -> Int {
        let count: Int?
        do {
            count = try process.receive(into: &state.piece)
        } catch {
            throw reasonOfEnd()
        }
        guard let count else { return 0 }
        guard count > 0 else { throw reasonOfEnd() }
        state.unread += state.piece[..<count]
        return count
    }

    /// What the end of a process says. An engine that finds no memory ends it by one of several signals.
    private func reasonOfEnd() -> ScriptError {
        guard let engine = command.engine else { return .workerFailed }
        return switch process.ended() {
        case .exit(2): .noEngine(engine)
        case .exit(3): .memoryLimit(limits.megabytes)
        case .exit: .workerFailed
        case .signal(Signals.timeExhausted): .timeLimit(limits.time)
        case .signal: .memoryLimit(limits.megabytes)
        }
    }
}
