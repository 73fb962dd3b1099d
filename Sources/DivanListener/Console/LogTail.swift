// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanLogging
internal import Synchronization

/// The last entries of the log, for administrators who look at them by HTTP.
///
/// State: `state`, guarded by its mutex.
///
/// ## Invariants
///
/// 1. There are at most `capacity` entries, numbered one after the other.
/// 2. No entry's message is longer than `longest` bytes and an ellipsis.
final class LogTail: LogSink {
    /// An entry with its number, which goes up by one.
    struct Numbered: Sendable {
        var number: Int
        var entry: LogEntry
    }

    private struct State {
        var entries: [Numbered] = []
        var last = 0
    }

    /// That of the process, whose log is one.
    static let shared: LogTail = {
        let tail = LogTail()
        Log.add(tail)
        return tail
    }()

    private static let capacity = 2_000
    private static let longest = 4_096

    private let state = Mutex(State())

    func write(_ entry: LogEntry) {
        var entry = entry
        if entry.message.utf8.count > Self.longest {
            entry.message =
                String(decoding: entry.message.utf8.prefix(Self.longest), as: UTF8.self) + "…"
        }
        state.withLock { state in
            state.last += 1
            state.entries.append(Numbered(number: state.last, entry: entry))
            // Many at once, so that an entry costs no walk.
            if state.entries.count >= Self.capacity {
                state.entries.removeFirst(Self.capacity / 4)
            }
        }
    }

    /// The last entries of a level and above it, in their order.
    ///
    /// - Parameters:
    ///   - number: Only those after this one.
    ///   - level: The lowest level.
    ///   - limit: How many at most.
    /// - Returns: They, and the number of the last entry of any level.
    func entries(after number: Int, level: LogLevel, limit: Int) -> (entries: [Numbered], last: Int)
    {
        state.withLock { state in
            let found = state.entries.filter { $0.number > number && $0.entry.level >= level }
            return (Array(found.suffix(limit)), state.last)
        }
    }
}
