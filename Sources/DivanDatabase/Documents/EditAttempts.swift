// SPDX-License-Identifier: Apache-2.0

internal import DivanModel

/// Repeats an edit that is made outside a transaction until no other writer was faster.
///
/// A closure that itself saves the document that it edits would conflict each time. So the attempts are
/// counted: their limit is far above what many writers of one document need, and ends such an edit in a second.
enum EditAttempts {
    static let limit = 1_000

    private struct Overtaken: Error {}

    /// Runs `attempt` until what it calls `saving` for is saved.
    ///
    /// - Throws: `DatabaseError` with code `.conflict` after `limit` attempts, and what `attempt` throws.
    static func run<T>(on id: DocumentID, _ attempt: () throws -> T) throws -> T {
        for _ in 0..<limit {
            try CancellationFlag.check()
            do { return try attempt() } catch is Overtaken { continue }
        }
        throw DatabaseError.overtaken(id, attempts: limit)
    }

    /// Saves what an attempt made, or ends the attempt since what it was made from is outdated.
    static func saving<T>(_ save: () throws -> T) throws -> T {
        do { return try save() } catch let error as DatabaseError where error.code == .conflict {
            throw Overtaken()
        }
    }
}
