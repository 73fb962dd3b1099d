// SPDX-License-Identifier: Apache-2.0

public import DivanModel

extension Database {
    /// Makes a live document with a generated ID.
    ///
    /// ```swift
    /// let document = database.makeDocument()
    /// try document.putProperties(["type": "list", "title": "Groceries"])
    /// ```
    ///
    /// Nothing is stored until it is saved.
    public func makeDocument() -> LiveDocument {
        live.document(IDGenerator.shared.documentID(), in: self)
    }

    /// The live document of an ID: always the same object, as long as the app holds it.
    ///
    /// Neither reads nor writes. Where there is no such document the object is valid and empty, and
    /// its first save creates the document.
    ///
    /// Each `Database` has its own live documents, so those of two handles on one directory are two
    /// objects; a manager gives the same `Database` each time.
    ///
    /// - Throws: `DatabaseError` with code `.invalidID` or `.databaseClosed`.
    public func liveDocument(withID id: DocumentID) throws -> LiveDocument {
        let documentID = try id.checked()
        try checkOpen()
        return live.document(documentID, in: self)
    }

    /// The live document of an ID; nil when there is no such document or it is deleted.
    ///
    /// - Throws: `DatabaseError` with code `.invalidID`, `.databaseClosed`, `.io` or `.corrupted`.
    public func existingLiveDocument(withID id: DocumentID) throws -> LiveDocument? {
        let document = try liveDocument(withID: id)
        try document.load()
        return document.exists ? document : nil
    }

    /// The live document of an ID; the same as ``liveDocument(withID:)``.
    ///
    /// - Throws: `DatabaseError` with code `.invalidID` or `.databaseClosed`.
    public subscript(id: DocumentID) -> LiveDocument {
        get throws { try liveDocument(withID: id) }
    }

    /// Runs a change of a document that the caller based on an earlier read.
    ///
    /// After a conflict its live document knows that it is out of date: the revision that was in the
    /// way may come from another process, whose commit has not been noticed here yet.
    func changeLive<T>(_ id: DocumentID, _ body: (WriteContext) throws -> T) throws -> T {
        try checkWritable()
        return try core.write { context in
            try live.requiring(id, context) { try body(context) }
        }
    }
}

extension LiveDocumentRegistry {
    /// Runs a change; a conflict shows that what was known before the transaction is out of date.
    fileprivate func requiring<T>(
        _ id: DocumentID, _ context: WriteContext, _ body: () throws -> T
    ) throws -> T {
        do { return try body() } catch let error as DatabaseError where error.code == .conflict {
            require(context.markAtBegin, of: [id])
            throw error
        }
    }
}
