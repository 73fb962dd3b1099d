// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import DivanJSON
internal import DivanLogging
internal import DivanSystem
internal import Synchronization

/// How often in a row a process has died soon after replications of `_replicator` had started in it.
///
///     a replication is about to start ──► the record counts one more, and is on the disk
///     none has started for a minute ────► the record goes
///     the listener stops, or `exit` ────► the record goes
///     the process dies before that ─────► the record stays; after three such deaths the replications begin paused
///
/// These replications start with each listener, so one that ends the process would end it at each start. The
/// machine's end is no death of the process: the record names the run of the machine, and one of another run counts for
/// nothing. Nor does the record of a process that is alive.
///
/// State: `state`, guarded by its mutex. The file is written under it, so that it says what was decided last.
final class EarlyDeaths: Sendable {
    /// After so many deaths the replications begin paused.
    static let most = 3
    /// A process that lives for so many seconds after a start does not die of it.
    static let trial = 60

    private struct State {
        /// How often a process had died when this one began.
        var found: Int
        /// Whether this process has a record on the disk.
        var isRecorded = false
        /// How often replications have started.
        var starts = 0
    }

    private let path: String
    private let machineRun: String
    private let state: Mutex<State>

    /// Reads the record in a listener's directory.
    ///
    /// - Parameters:
    ///   - directory: The directory.
    ///   - machineRun: What tells this run of the machine from its others.
    init(directory: String, machineRun: String = EarlyDeaths.currentMachineRun) {
        path = directory + "/replicator-starts"
        self.machineRun = machineRun
        state = Mutex(State(found: Self.deaths(path, machineRun)))
    }

    /// How often a process had died when this one began.
    var count: Int { state.withLock { $0.found } }

    /// Whether replications that are there already begin paused.
    var isPausing: Bool { count >= Self.most }

    /// Notes that a replication is about to start; the note is on the disk when this returns.
    func noteStart() {
        let start = state.withLock { state in
            state.starts += 1
            if !state.isRecorded {
                state.isRecorded = true
                RecordsOfThisProcess.shared.add(path)
                write(min(state.found + 1, Self.most))
            }
            return state.starts
        }
        Self.queue.asyncAfter(deadline: .now() + .seconds(Self.trial)) { [weak self] in
            self?.endTrial(ofStart: start)
        }
    }

    /// Removes the record when the process has lived long enough after a start, and none has followed it.
    func endTrial(ofStart start: Int) {
        if state.withLock({ $0.starts == start }) { forget() }
    }

    /// Removes the record: what ends the process now is not its replications.
    func forget() {
        state.withLock { state in
            guard state.isRecorded || state.found > 0 else { return }
            state.isRecorded = false
            Files.removeFile(path)
            RecordsOfThisProcess.shared.remove(path)
        }
    }

    // MARK: - The record

    private static let queue = DispatchQueue(label: "divan.listener.deaths")

    private func write(_ count: Int) {
        let record: JSONValue = [
            "starts": JSONValue(count), "process": JSONValue(CurrentProcess.number),
            "machine": .string(machineRun),
        ]
        if !OwnersFile.replace(path, Array(record.description.utf8)) {
            Log.listener.warning(
                "'\(path)' cannot be written, so it is not noticed when a replication ends the process again and again."
            )
        }
    }

    /// How many deaths the record at a path tells of.
    private static func deaths(_ path: String, _ machineRun: String) -> Int {
        guard let record = OwnersFile.read(path).flatMap({ try? JSONParser.parse($0) }),
            record["machine"]?.string?.utf8.elementsEqual(machineRun.utf8) ?? false,
            let starts = record["starts"]?.int64
        else { return 0 }
        let count = min(max(0, Int(clamping: starts)), most)
        return isAlive(record["process"]?.int64, path)
            ? max(0, count.subtractingSaturated(1)) : count
    }

    /// Whether the process that has written a record lives. A number of this process is that of another one, as where each
    /// start in a container has the number 1, unless this process has written it itself.
    private static func isAlive(_ process: Int64?, _ path: String) -> Bool {
        guard let process, let number = Int32(exactly: process), number > 0 else { return false }
        if number == CurrentProcess.number { return RecordsOfThisProcess.shared.has(path) }
        return CurrentProcess.isAlive(number)
    }

    /// What tells this run of the machine from its others; empty where the system does not say.
    private static var currentMachineRun: String {
        let bytes = OwnersFile.read("/proc/sys/kernel/random/boot_id") ?? []
        return String(decoding: bytes.prefix { $0 != 0x0A }, as: UTF8.self)
    }
}

/// The records of this process, which go when it ends by `exit`.
///
/// State: the paths, guarded by their mutex.
private final class RecordsOfThisProcess: Sendable {
    static let shared = RecordsOfThisProcess()

    private let paths = Mutex<NameSet>([])

    private init() {
        CurrentProcess.atExit {
            for path in RecordsOfThisProcess.shared.paths.withLock({ $0 }) {
                Files.removeFile(path)
            }
        }
    }

    func add(_ path: String) { paths.withLock { _ = $0.insert(path) } }

    func remove(_ path: String) { paths.withLock { _ = $0.remove(path) } }

    func has(_ path: String) -> Bool { paths.withLock { $0.contains(path) } }
}
