// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanModel

extension DatabaseCore {
    /// How often indexes are brought up to date without holding up writers.
    private static let attempts = 4

    /// Brings indexes up to date, and answers in a snapshot that finds them so.
    ///
    /// Between the end of indexing and the snapshot other writers may have committed: then a row of an index
    /// need not be what its document says. So the snapshot is asked, and all is tried again; the last time inside a
    /// write transaction, where no other writer can commit.
    ///
    ///     this thread                 another writer
    ///     update
    ///                                 commit
    ///     snapshot: not current
    ///     update
    ///     snapshot: current, answer
    ///
    /// - Parameters:
    ///   - update: Brings the indexes up to date.
    ///   - isCurrent: Whether the indexes, as a snapshot has them, may answer.
    ///   - answer: Reads the indexes, and the documents if it wants them.
    /// - Returns: What `answer` returns.
    /// - Throws: What the closures throw, and `DatabaseError`.
    func answer<Answer>(
        afterUpdate update: () throws -> Void, ifCurrent isCurrent: (Snapshot) throws -> Bool,
        _ answer: (Snapshot) throws -> Answer
    ) throws -> Answer {
        for _ in 0..<Self.attempts {
            try update()
            let found = try read { try isCurrent($0) ? answer($0) : nil }
            if let found { return found }
        }
        return try batch { context in
            try update()
            let (_, snapshot) = try context.transaction()
            return try answer(snapshot)
        }
    }
}
