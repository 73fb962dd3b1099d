// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
public import DivanModel
internal import DivanStorage
internal import DivanSystem

// Local documents have no history and never replicate; checkpoints are kept in them.
extension Database {
    /// Returns a local document, or nil.
    ///
    /// - Parameter id: Its ID, with or without `_local/` in front.
    /// - Returns: Its properties; nil when there is no such local document.
    /// - Throws: `DatabaseError` with code `.invalidID`, `.databaseClosed`, `.io` or `.corrupted`.
    public func localDocument(_ id: DocumentID) throws -> JSONObject? {
        try read { try $0.localDocument(id) }
    }

    /// Replaces a local document. There are no conflicts: the last one to write wins.
    public func putLocalDocument(_ id: DocumentID, _ properties: JSONObject) throws {
        try jointOperation { try $0.putLocalDocument(id, properties) }
    }

    /// Removes a local document; a missing one is fine.
    public func deleteLocalDocument(_ id: DocumentID) throws {
        try jointOperation { try $0.deleteLocalDocument(id) }
    }
}

// Facts about a database.
extension Database {
    /// The number of documents that are not deleted.
    public var documentCount: Int { get throws { try read { try $0.documentCount } } }

    /// The sequence of the last change; it only grows and is never used twice.
    public var lastSequence: SequenceNumber { get throws { try read { try $0.lastSequence } } }

    /// The bytes of the database's files; 0 in memory.
    public var diskSize: Int {
        get throws {
            try checkOpen()
            return core.directory.map { Files.size(of: $0.path) } ?? 0
        }
    }

    /// The bytes of all files of the database, and of those that hold documents, indexes and attachments without what
    /// compaction could give back; 0 in memory.
    ///
    /// The attachments are looked through once for both, file by file.
    package var sizes: (file: Int, used: Int) {
        get throws {
            try checkOpen()
            guard let directory = core.directory else { return (0, 0) }
            let attachments = core.attachments.size
            let others = Files.size(of: directory.path, leavingOut: core.attachments.folder)
            return (
                others.addingSaturated(attachments),
                try core.engine.usedSize().addingSaturated(attachments)
            )
        }
    }

    /// The UUID by which the database may be known to others.
    public var publicUUID: String { core.identity.publicUUID }

    /// The UUID that checkpoints are made from; peers cannot guess it.
    public var privateUUID: String { core.identity.privateUUID }

    /// The database's incarnation: a new one after each copying, installing and restoring.
    ///
    /// A checkpoint that names another incarnation refers to sequences that mean nothing here. See
    /// `DatabaseDirectory`.
    package var incarnation: String { core.identity.incarnation }

    /// Gives the database new UUIDs; replications then start over.
    ///
    /// Other handles and processes that have it open see the new ones too.
    ///
    /// - Throws: `DatabaseError` with code `.readOnly`, `.io`, `.storageFull` or `.databaseBusy`.
    public func replaceUUIDs() throws {
        try checkWritable()
        try core.suspension.check(name)
        try core.replaceUUIDs()
    }

    /// The name of the storage engine that keeps the database, such as `sqlite`.
    public var storageEngineName: String { core.engineName }

    /// Makes every commit so far survive power loss.
    ///
    /// - Throws: `DatabaseError` with code `.io`.
    public func sync() throws {
        try checkOpen()
        try checkAvailable()
        try DatabaseCore.blaming(nil) { try core.engine.sync() }
    }
}
