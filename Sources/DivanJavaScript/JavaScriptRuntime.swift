// SPDX-License-Identifier: Apache-2.0

internal import DivanSystem
internal import Dispatch
internal import Synchronization

/// Runs scripts of design documents in processes of their own.
///
/// ```swift
/// let runtime = JavaScriptRuntime()
/// try runtime.verify()
/// ```
///
/// A script has no files, no network, and no processes; what it may take of time and memory is bounded, and a script that
/// takes more ends with its process, not with the app. It needs the program `divan-javascript` and the library JavaScriptCore, which that
/// program loads. An app that does not import this module starts and loads neither.
///
/// A process is started when a design document first needs one, and kept for it. When all are busy, a caller waits.
///
/// State: which workers are idle, oldest first, how many are busy by program, and the callers that wait, guarded by the mutex.
public final class JavaScriptRuntime: Sendable {
    private struct State {
        var idle: [(program: JavaScriptProgram, worker: JavaScriptWorker)] = []
        var busy: [JavaScriptProgram: Int] = [:]
        var waiting: [DispatchSemaphore] = []
        var isClosed = false

        var count: Int { idle.count + busy.values.reduce(0, +) }
    }

    /// What a caller that asks for a worker does next.
    private enum Turn {
        case use(JavaScriptWorker)
        case start(ending: JavaScriptWorker?)
        case wait(DispatchSemaphore)
        case leave
    }

    private let path: String
    private let limits: JavaScriptLimits
    private let state = Mutex(State())

    /// Makes a runtime, which starts no process yet.
    ///
    /// - Parameters:
    ///   - program: The path of `divan-javascript`; nil for the one beside the program that runs.
    ///   - limits: What scripts may take.
    public init(program: String? = nil, limits: JavaScriptLimits = JavaScriptLimits()) {
        path = program ?? CurrentProcess.folder + "/divan-javascript"
        self.limits = limits
    }

    deinit { close() }

    /// Finds out whether scripts run here, by starting a process and ending it.
    ///
    /// - Throws: ``JavaScriptError`` with code `unavailable` when the program or the library is not here.
    public func verify() throws(JavaScriptError) {
        let worker = try JavaScriptWorker(program: path, limits: limits)
        _ = try worker.ask(Array(#"["reset",{}]"#.utf8))
    }

    /// Ends the processes that are idle; those that are busy end when their scripts do. Callers that wait get an error.
    public func close() {
        let (idle, waiting) = state.withLock { state in
            defer { (state.idle, state.waiting, state.isClosed) = ([], [], true) }
            return (state.idle, state.waiting)
        }
        for entry in idle { entry.worker.end() }
        for semaphore in waiting { semaphore.signal() }
    }

    /// Lends a worker that knows a program, and waits for one while all that it may have are busy.
    ///
    /// When the worker's process ends during the call, the next call starts another one.
    ///
    /// - Parameters:
    ///   - program: The scripts.
    ///   - body: What to ask. It may ask several times: another caller gets the worker afterwards.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws, and `JavaScriptError` when a worker cannot be started or does not learn the program.
    package func withWorker<Result>(
        for program: JavaScriptProgram,
        _ body: (JavaScriptWorker) throws(JavaScriptError) -> Result
    ) throws(JavaScriptError) -> Result {
        let worker = try take(program)
        defer { giveBack(worker, program) }
        return try body(worker)
    }

    /// How many processes run.
    package var processCount: Int { state.withLock { $0.count } }

    private func take(_ program: JavaScriptProgram) throws(JavaScriptError) -> JavaScriptWorker {
        while true {
            switch state.withLock({ turn(for: program, &$0) }) {
            case .leave: throw .closed
            case .wait(let semaphore): semaphore.wait()
            case .use(let worker):
                if worker.isReady { return worker }
                worker.end()
                giveBack(nil, program)
            case .start(let victim):
                victim?.end()
                do throws(JavaScriptError) {
                    let worker = try JavaScriptWorker(program: path, limits: limits)
                    for command in program.commands { _ = try worker.ask(command) }
                    return worker
                } catch {
                    giveBack(nil, program)
                    throw error
                }
            }
        }
    }

    private func turn(for program: JavaScriptProgram, _ state: inout State) -> Turn {
        guard !state.isClosed else { return .leave }
        let busy = state.busy[program, default: 0]
        if busy < max(limits.processesPerScript, 1) {
            if let index = state.idle.lastIndex(where: { $0.program == program }) {
                state.busy[program] = busy + 1
                return .use(state.idle.remove(at: index).worker)
            }
            let isFull = state.count >= max(limits.processes, 1)
            if !isFull || !state.idle.isEmpty {
                state.busy[program] = busy + 1
                return .start(ending: isFull ? state.idle.removeFirst().worker : nil)
            }
        }
        let semaphore = DispatchSemaphore(value: 0)
        state.waiting.append(semaphore)
        return .wait(semaphore)
    }

    /// Takes a worker back, and lets those that wait look again.
    private func giveBack(_ worker: JavaScriptWorker?, _ program: JavaScriptProgram) {
        let (waiting, isEnded) = state.withLock { state in
            let busy = state.busy[program, default: 1] - 1
            state.busy[program] = busy == 0 ? nil : busy
            let isEnded = state.isClosed || worker?.isOver ?? true
            if let worker, !isEnded { state.idle.append((program, worker)) }
            defer { state.waiting = [] }
            return (state.waiting, isEnded)
        }
        if isEnded { worker?.end() }
        for semaphore in waiting { semaphore.signal() }
    }
}
