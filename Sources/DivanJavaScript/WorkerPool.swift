// SPDX-License-Identifier: Apache-2.0

internal import DivanDesign
internal import Dispatch
internal import Synchronization

/// The processes of a runtime, each of which has learned the scripts of one design document.
///
/// A process is started when a design document first needs one, and kept for it. When all are busy, a caller waits.
///
/// State: which workers are idle, oldest first, how many are busy by program, and the callers that wait, guarded by the mutex.
final class WorkerPool: ScriptProcesses {
    private struct State {
        var idle: [(program: ScriptProgram, worker: ScriptWorker)] = []
        var busy: [ScriptProgram: Int] = [:]
        var waiting: [Waiter] = []
        var isClosed = false

        var count: Int { idle.count + busy.values.reduce(0, +) }
    }

    /// What a caller that asks for a worker does.
    private enum Turn {
        case use(ScriptWorker)
        case start(ending: ScriptWorker?)
        case leave
    }

    /// A caller that waits; what it does is set before it is woken.
    private final class Waiter: Sendable {
        let program: ScriptProgram
        let semaphore = DispatchSemaphore(value: 0)
        let turn = Mutex<Turn>(.leave)

        init(_ program: ScriptProgram) { self.program = program }
    }

    /// How many more processes urgent programs may have.
    private static let urgentProcesses = 2

    private let command: WorkerCommand
    private let limits: JavaScriptLimits
    private let state = Mutex(State())

    /// Makes a pool, which starts no process yet.
    init(_ command: WorkerCommand, _ limits: JavaScriptLimits) {
        self.command = command
        self.limits = limits
    }

    deinit { close() }

    var mapsManyDocuments: Bool { command.isOurs }

    var engineName: String? { command.engine?.rawValue }

    /// Starts a process and waits until it runs, which is not the time of any script.
    ///
    /// - Throws: `ScriptError` with code `unavailable` when the program or what it loads is not here.
    @discardableResult
    func start() throws(ScriptError) -> ScriptWorker {
        let worker = try ScriptWorker(command, limits: limits)
        _ = try worker.ask(Array(#"["reset",{}]"#.utf8))
        return worker
    }

    /// Ends the processes that are idle; those that are busy end when their scripts do. Callers that wait get an error.
    func close() {
        let (idle, waiting) = state.withLock { state in
            defer { (state.idle, state.waiting, state.isClosed) = ([], [], true) }
            return (state.idle, state.waiting)
        }
        for entry in idle { entry.worker.end() }
        for waiter in waiting { waiter.semaphore.signal() }
    }

    /// Lends a worker that knows a program, and waits for one while all that it may have are busy.
    ///
    /// When the worker's process ends during the call, the next call starts another one.
    ///
    /// - Parameters:
    ///   - program: The scripts.
    ///   - body: What to ask. It may ask several times: another caller gets the worker afterwards.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws, and `ScriptError` when a worker cannot be started or does not learn the program.
    func withWorker<Result>(
        for program: ScriptProgram,
        _ body: (ScriptWorker) throws(ScriptError) -> Result
    ) throws(ScriptError) -> Result {
        let worker = try take(program)
        defer { giveBack(worker, program) }
        return try body(worker)
    }

    /// Lends a worker as a process.
    func withProcess<Result>(
        for program: ScriptProgram,
        _ body: (any ScriptProcess) throws(ScriptError) -> Result
    ) throws(ScriptError) -> Result {
        try withWorker(for: program) { worker throws(ScriptError) in try body(worker) }
    }

    /// How many processes run.
    var processCount: Int { state.withLock { $0.count } }

    private func take(_ program: ScriptProgram) throws(ScriptError) -> ScriptWorker {
        while true {
            switch nextTurn(for: program) {
            case .leave: throw .closed
            case .use(let worker):
                if worker.isReady { return worker }
                worker.end()
                giveBack(nil, program)
            case .start(let victim):
                victim?.end()
                do throws(ScriptError) {
                    let worker = try start()
                    for command in program.commands { _ = try worker.ask(command) }
                    return worker
                } catch {
                    giveBack(nil, program)
                    throw error
                }
            }
        }
    }

    /// What a caller does, after it has waited for its turn if it must.
    private func nextTurn(for program: ScriptProgram) -> Turn {
        let waiter = Waiter(program)
        let turn = state.withLock { state -> Turn? in
            if let turn = self.turn(for: program, &state) { return turn }
            state.waiting.append(waiter)
            return nil
        }
        if let turn { return turn }
        waiter.semaphore.wait()
        return waiter.turn.withLock { $0 }
    }

    /// What a caller may do now; nil when it must wait.
    private func turn(for program: ScriptProgram, _ state: inout State) -> Turn? {
        guard !state.isClosed else { return .leave }
        let busy = state.busy[program, default: 0]
        guard busy < max(limits.processesPerScript, 1) else { return nil }
        if let index = state.idle.lastIndex(where: { $0.program == program }) {
            state.busy[program] = busy + 1
            return .use(state.idle.remove(at: index).worker)
        }
        let usual = min(max(limits.processes, 1), .max - Self.urgentProcesses)
        let most = usual + (program.isUrgent ? Self.urgentProcesses : 0)
        let isFull = state.count >= most
        guard !isFull || !state.idle.isEmpty else { return nil }
        state.busy[program] = busy + 1
        return .start(ending: isFull ? state.idle.removeFirst().worker : nil)
    }

    /// Takes a worker back, and gives those that wait their turn, in the order in which they came.
    private func giveBack(_ worker: ScriptWorker?, _ program: ScriptProgram) {
        let (woken, isEnded) = state.withLock { state in
            let busy = state.busy[program, default: 1] - 1
            state.busy[program] = busy == 0 ? nil : busy
            let isEnded =
                state.isClosed || program.endsAfterUse || worker?.isOver ?? true
            if let worker, !isEnded { state.idle.append((program, worker)) }
            var woken: [Waiter] = []
            for waiter in state.waiting {
                guard let turn = self.turn(for: waiter.program, &state) else { continue }
                waiter.turn.withLock { $0 = turn }
                woken.append(waiter)
            }
            state.waiting.removeAll { waiter in woken.contains { $0 === waiter } }
            return (woken, isEnded)
        }
        if isEnded { worker?.end() }
        for waiter in woken { waiter.semaphore.signal() }
    }
}
