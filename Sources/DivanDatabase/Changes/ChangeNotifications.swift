// SPDX-License-Identifier: Apache-2.0

/// Changes as they are committed, as an asynchronous sequence; see `Database.databaseChanges` and
/// `Database.documentChanges(of:)`.
///
/// ```swift
/// let changes = try database.databaseChanges
/// for await change in changes { print(change.documentIDs) }
/// ```
///
/// It begins where the database stood when the sequence was made, not when the loop begins, so what
/// is committed in between is not missed. It ends when the database is closed or deleted, or the task
/// is cancelled. Nothing is kept for a loop that is slow: it reads on in the database, and gets one
/// element for what happened meanwhile. While it lives, a sequence keeps its database open.
public struct ChangeNotifications<Element: Sendable>: AsyncSequence, Sendable {
    let database: Database
    let start: any ChangeReader<Element>

    /// Makes an iterator that begins where the sequence begins.
    public func makeAsyncIterator() -> Iterator { Iterator(database, start) }

    /// Reads one element after the other and waits where there is none.
    public struct Iterator: AsyncIteratorProtocol {
        private let database: Database
        private let signal: CountedSignal
        private var reader: any ChangeReader<Element>
        /// What was read and not given yet, the last first.
        private var rest: [Element] = []

        init(_ database: Database, _ reader: any ChangeReader<Element>) {
            self.database = database
            self.reader = reader
            signal = CountedSignal { reader.follow(database.core.hub, $0) }
        }

        /// Returns the next element, and waits for a commit where there is none yet; nil when the database is
        /// closed or the task is cancelled. An error while reading is waited out, and nothing is lost.
        public mutating func next() async -> Element? {
            while true {
                // Before looking whether it is closed: closing rings, too.
                let seen = signal.count
                if database.isClosed || Task.isCancelled { return nil }
                if let element = rest.popLast() { return element }
                let (before, core) = (reader, database.core)
                do {
                    let (elements, after) = try await BlockingWork.run {
                        try before.reading(core)
                    }
                    reader = after
                    rest = elements.reversed()
                    if rest.isEmpty { await signal.wait(after: seen) }
                } catch {
                    if database.isClosed || Task.isCancelled { return nil }
                    // Nothing is lost meanwhile: the reader has not moved.
                    try? await Task.sleep(for: .seconds(1))
                }
            }
        }
    }
}

extension ChangeReader {
    /// As `next`, with the moved reader as a result.
    fileprivate func reading(_ core: DatabaseCore) throws -> ([Element], any ChangeReader<Element>)
    {
        var moved = self
        let elements = try moved.next(core)
        return (elements, moved)
    }
}
