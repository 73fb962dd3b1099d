// SPDX-License-Identifier: Apache-2.0

package import DivanStorage

/// The stores of a database; docs/internal/file-format.md describes the rows of each.
package struct Stores: Sendable {
    /// Sequence → a stored revision: `RevisionRow`. Appended once, never moved.
    package let revisions: Store
    /// (Sequence, chunk) → a piece of a body too large for its row: `LargeBody`.
    let largeBodies: Store
    /// Sequence → why scans skip that revision: `SupersededMark`.
    package let superseded: Store
    /// Document ID → `DocumentRecord`.
    package let documents: Store
    /// Document ID → nothing: the documents in conflict.
    let conflicts: Store
    /// Purge sequence → `PurgeRecord`.
    package let purges: Store
    /// Local document ID → `LocalRecord`.
    package let local: Store
    /// Document ID and number → links between older revisions: `OlderRevisionsKey`.
    let olderRevisions: Store
    /// (Time, document ID) → nothing: `ExpirationKey`.
    package let expirations: Store
    /// Digest and sequence → nothing, or flags: `AttachmentReference`.
    let attachmentReferences: Store
    /// Fixed keys → `DatabaseState` and settings.
    let info: Store
    /// Kind and name of an index → `IndexRecord`.
    let indexes: Store

    /// The stores by their names, in the order of the properties.
    package static let names: [StoreName] = [
        StoreName("revisions", .integer), StoreName("largeBodies", .bytes),
        StoreName("superseded", .integer), StoreName("documents", .bytes),
        StoreName("purges", .integer), StoreName("local", .bytes), StoreName("info", .bytes),
        StoreName("conflicts", .bytes), StoreName("indexes", .bytes),
        StoreName("expirations", .bytes),
        StoreName("attachmentReferences", .bytes), StoreName("olderRevisions", .bytes),
    ]

    init(engine: any StorageEngine) {
        let stores = Self.names.map { engine.store($0) }
        revisions = stores[0]
        largeBodies = stores[1]
        superseded = stores[2]
        documents = stores[3]
        purges = stores[4]
        local = stores[5]
        info = stores[6]
        conflicts = stores[7]
        indexes = stores[8]
        expirations = stores[9]
        attachmentReferences = stores[10]
        olderRevisions = stores[11]
    }
}
