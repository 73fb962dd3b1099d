// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The terms of the documents that wait to be written, by numbers that only this process knows.
///
/// The threads that map documents share it. Each keeps the numbers of the words that it has met, so that it
/// comes here for new ones only.
package final class TermVocabulary: Sendable {
    private let table = Mutex(ByteTable())
    /// Whether a thread has the table now: a hint.
    private let isTaken = Atomic(false)

    /// Makes an empty vocabulary.
    package init() {}

    /// The number of a term, which gets one if it has none; nil when there are too many.
    package func number(of term: [UInt8]) -> UInt32? {
        // Another thread holds the table for about 0.1 µs; to put this one to sleep until then takes the system several µs.
        var attempts = 0
        while isTaken.load(ordering: .relaxed), attempts < Self.mostAttempts { attempts += 1 }
        return table.withLock { table in
            isTaken.store(true, ordering: .relaxed)
            defer { isTaken.store(false, ordering: .relaxed) }
            if let known = table.number(of: term.span) { return UInt32(known) }
            guard table.count < DocumentTerms.mostTerms else { return nil }
            return table.add(term.span).map { UInt32($0) }
        }
    }

    private static let mostAttempts = 1_000

    /// About how much memory it takes.
    package var size: Int { table.withLock { $0.size } }

    /// Forgets all terms; no row that names them may wait.
    package func removeAll() { table.withLock { $0.removeAll() } }

    /// The terms as they are now.
    var terms: ByteTable { table.withLock { $0 } }
}
