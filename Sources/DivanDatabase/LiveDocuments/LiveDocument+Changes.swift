// SPDX-License-Identifier: Apache-2.0

public import Dispatch

// As `Database.documentChanges(of:)`. A listener that is told of a change is shown no older revision.
extension LiveDocument {
    /// The changes of the document from now on, by this or another process, as a sequence.
    ///
    /// ```swift
    /// for await change in try document.changes where change.isConflict { resolve(document) }
    /// ```
    ///
    /// Once an element has come, the document shows what it tells of, or something newer. While it
    /// lives, the sequence keeps the document.
    ///
    /// - Throws: `DatabaseError` with code `.databaseClosed`, `.io` or `.corrupted`.
    public var changes: some AsyncSequence<DocumentChange, Never> & Sendable {
        get throws {
            try database.documentChanges(of: id).map { [self] change in
                catchUp()
                return change
            }
        }
    }

    /// Calls a closure with each change of the document from now on, by this or another process.
    ///
    /// When it is called, the document shows what it tells of, or something newer.
    ///
    /// - Parameters:
    ///   - queue: Where the closure runs, such as `.main`; nil for a queue of its own.
    ///   - listener: Receives each change.
    /// - Returns: The token that keeps the listener: hold on to it.
    /// - Throws: `DatabaseError` with code `.databaseClosed`, `.io` or `.corrupted`.
    public func addChangeListener(
        on queue: DispatchQueue? = nil, _ listener: @escaping @Sendable (DocumentChange) -> Void
    ) throws -> ListenerToken {
        try database.addDocumentChangeListener(for: id, on: queue) { [weak self] change in
            self?.catchUp()
            listener(change)
        }
    }

    /// Makes sure that what is shown next is current: the hub may tell a listener of another
    /// process's commit before it tells the registry.
    private func catchUp() {
        if let mark = try? database.core.committedMark() { cache.require(mark) }
    }
}
