// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import DivanDatabase
internal import DivanIndex
internal import DivanModel
internal import Synchronization

/// The mapping of one piece: each document by each index that has not seen it, on all cores.
struct IndexMapping {
    let piece: IndexPiece

    /// What the threads have made.
    private struct Parts {
        /// In any order, with the sequence that each part follows.
        var mapped: [(after: SequenceNumber, feed: MappedFeed)] = []
        var failure: (any Error)?
    }

    /// Maps the documents and adds them to those before.
    func run(adding whole: inout MappedFeed) throws {
        let parts = Mutex(Parts())
        let threads = piece.mostThreads
        if threads == 1 {
            work(true, parts)
        } else {
            DispatchQueue.concurrentPerform(iterations: threads) { work($0 == 0, parts) }
        }
        var done = parts.withLock { $0 }
        if let failure = done.failure { throw failure }
        // The last one is taken out first, so that each part is freed when it has been added.
        done.mapped.sort { $0.after > $1.after }
        while let part = done.mapped.popLast(), part.after < piece.end { whole.append(part.feed) }
    }

    /// What one thread does; one of them begins with the part that has been read.
    private func work(_ isFirst: Bool, _ parts: borrowing Mutex<Parts>) {
        do {
            if isFirst { note(piece.first, after: 0, parts) }
            while parts.withLock({ $0.failure == nil }), var stretch = piece.claim() {
                var start = stretch.after
                while let part = try piece.read(&stretch) {
                    note(part, after: start, parts)
                    start = stretch.after
                }
            }
        } catch {
            parts.withLock { $0.failure = error }
        }
    }

    private func note(
        _ part: IndexPart, after sequence: SequenceNumber, _ parts: borrowing Mutex<Parts>
    ) {
        let mapped = MapGuard.$isMapping.withValue(true) { part.mapped() }
        parts.withLock { $0.mapped.append((sequence, mapped)) }
    }
}
