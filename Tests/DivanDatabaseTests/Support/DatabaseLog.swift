// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Synchronization
import Testing

/// What is logged about the database of one name while this lives.
///
/// The log is the process's, and other tests run beside this one: use a name of the test's own.
final class DatabaseLog: Sendable {
    private final class Sink: LogSink {
        let name: String
        let kept = Mutex<[LogEntry]>([])

        init(_ name: String) { self.name = name }

        func write(_ entry: LogEntry) {
            if entry.message.contains("'\(name)'") { kept.withLock { $0.append(entry) } }
        }
    }

    private let sink: Sink

    init(of name: String) {
        sink = Sink(name)
        Log.add(sink, levels: LogLevels(.debug))
    }

    deinit { Log.remove(sink) }

    var entries: [LogEntry] { sink.kept.withLock { $0 } }

    func messages(_ level: LogLevel) -> [String] {
        entries.filter { $0.level == level }.map(\.message)
    }

    /// Waits for an entry, which another thread may be delivering; false when it does not come.
    func waits(
        for words: String, sourceLocation: SourceLocation = #_sourceLocation
    ) -> Bool {
        eventually(sourceLocation: sourceLocation) {
            entries.contains { $0.message.contains(words) }
        }
    }
}
