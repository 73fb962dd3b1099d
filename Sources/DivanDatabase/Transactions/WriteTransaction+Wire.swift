// SPDX-License-Identifier: Apache-2.0

package import DivanJSON
package import DivanModel

// What a server writes: bodies that came as text and are packed, never taken apart.
extension WriteTransaction {
    /// Adds a revision below exactly the given parent, from its packed body; see `Database.put`.
    ///
    /// The same edit once more conflicts: clients use revisions as locks.
    @discardableResult
    package func put(
        _ id: DocumentID, body: PackedValue, parent: RevisionID?, isDeleted: Bool,
        attachments: NameMap<AttachmentContent> = [:]
    ) throws -> Document {
        let content = try RevisionContent.ofClient(
            body, isDeleted: isDeleted, following: attachments, id: id.checked())
        return try put(
            id, content, parent: parent, allowConflict: false, repetition: .conflicts)
    }

    /// Stores a revision made elsewhere from its packed body, as a client gives it.
    ///
    /// What stands beside content in place is passed over, as CouchDB does.
    @discardableResult
    package func putClientRevision(
        _ id: DocumentID, history: [RevisionID], isDeleted: Bool, body: PackedValue
    ) throws -> Bool {
        let content = try RevisionContent.ofClient(
            body, isDeleted: isDeleted, id: id.checked())
        return try putExistingRevision(id, content, history: history).isNew
    }

    /// Replaces a local document if its revision number is what the caller thinks.
    ///
    /// - Parameters:
    ///   - id: Its ID.
    ///   - body: Its new body; nil to remove it.
    ///   - revision: The number it has; 0 when there is none yet.
    /// - Returns: The new number; 0 when it was removed.
    /// - Throws: `DatabaseError` with code `.conflict` when it has another number.
    package func replaceLocalDocument(
        _ id: DocumentID, _ body: PackedValue?, revision: UInt64
    ) throws -> UInt64 {
        let name = try LocalID.name(in: id)
        let (_, snapshot) = try context.transaction()
        let found = try snapshot.localDocument(name)?.revision ?? 0
        guard found == revision else {
            throw DatabaseError.conflict(DocumentID(LocalID.prefix + name), parent: nil)
        }
        try context.operation { try context.putLocal(name, body) }
        return body == nil ? 0 : found + 1
    }
}

extension RevisionContent {
    /// A body from a client, which may not see every document: its stubs stand for the document's own contents only. A
    /// client that knows the digest of another document's content gets neither that nor an answer whether it is here.
    fileprivate static func ofClient(
        _ body: PackedValue, isDeleted: Bool, following: NameMap<AttachmentContent> = [:],
        id: DocumentID
    ) throws -> RevisionContent {
        var content = try RevisionContent(
            given: body, isDeleted: isDeleted, following: following, claims: .passedOver, id: id)
        content.isLimitedToOwnContents = true
        return content
    }
}

extension Database {
    /// Adds a revision below exactly the given parent, from its packed body; see ``put(_:_:parent:options:attachments:)``.
    ///
    /// The same edit once more conflicts: clients use revisions as locks. Content of attachments is read before
    /// the writer is waited for.
    @discardableResult
    package func put(
        _ id: DocumentID, body: PackedValue, parent: RevisionID?, isDeleted: Bool,
        attachments: NameMap<AttachmentContent> = [:]
    ) throws -> Document {
        let content = try RevisionContent.ofClient(
            body, isDeleted: isDeleted, following: attachments, id: id.checked())
        try stage(content, for: id)
        return try jointOperation {
            try $0.put(
                id, content, parent: parent, allowConflict: false, repetition: .conflicts)
        }
    }

    /// Stores a revision made elsewhere from its packed body, as a client gives it; see `putExistingRevision`.
    ///
    /// What stands beside content in place is passed over, as CouchDB does. Content of attachments is read before the writer is waited for.
    @discardableResult
    package func putClientRevision(
        _ id: DocumentID, history: [RevisionID], isDeleted: Bool, body: PackedValue,
        attachments: NameMap<AttachmentContent> = [:]
    ) throws -> Bool {
        let content = try RevisionContent.ofClient(
            body, isDeleted: isDeleted, following: attachments, id: id.checked())
        try stage(content, for: id)
        return try jointOperation {
            try $0.putExistingRevision(id, content, history: history).isNew
        }
    }

    /// Calls a closure after each commit, of whatever process, and when the database is closed.
    ///
    /// It runs on the queue of the database's notifications: it must be short.
    package func whenCommitted(_ handler: @escaping @Sendable () -> Void) throws -> ListenerToken {
        try checkOpen()
        return core.hub.follow { _ in handler() }
    }
}
