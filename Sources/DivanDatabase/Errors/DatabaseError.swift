// SPDX-License-Identifier: Apache-2.0

public import DivanModel

/// What went wrong with a database, and how to put it right.
///
/// ```swift
/// do {
///     try database.save(note, .failOnConflict)
/// } catch let error as DatabaseError where error.code == .conflict {
///     // Another writer saved a newer revision: read it again and decide.
/// }
/// ```
///
/// The code says what a caller can *do* about the failure; the message is one sentence for a human,
/// with the ID of the document but never its content. `description` is one line, fit for a log;
/// `debugDescription` adds the cause below it.
public struct DatabaseError: Error, Sendable {
    /// The kinds of failure, by what a caller can do about them.
    ///
    /// New kinds may come with new releases, so a `switch` outside this package needs
    /// `@unknown default`.
    @nonexhaustive
    public enum Code: String, Sendable, CaseIterable {
        /// The document has changed since the revision this edit was made from, or already exists.
        case conflict
        /// No document has this ID.
        case documentNotFound
        /// The document exists, but not in this revision, or the revision's body is gone.
        case revisionNotFound
        /// The revision has no attachment of this name.
        case attachmentNotFound
        /// The document's content breaks a rule: a reserved key, too large, not an object.
        case invalidDocument
        /// A document ID or revision ID breaks the rules for IDs.
        case invalidID
        /// A name of a database, or of a header field of a listener, breaks the rules for names.
        case invalidName
        /// A query asks for something that makes no sense, or a number that a method was given makes none.
        case invalidQuery
        /// A validation function refused the change.
        case forbidden
        /// A function of a design document does not run: the underlying error says why.
        case scriptFailed
        /// The key is wrong, or missing for an encrypted database, or given for one that is not encrypted.
        case unauthorized
        /// No database has this name or path.
        case databaseNotFound
        /// There is something already where a database was to be made.
        case databaseExists
        /// The database was closed or deleted; open it again.
        case databaseClosed
        /// The database's manager was suspended; resume it and try again.
        case databaseSuspended
        /// Another process or task holds the database for longer than the timeout; try again.
        case databaseBusy
        /// The database was opened for reading only, or the code that writes runs inside a read of it.
        case readOnly
        /// The disk is full; nothing of this change was kept.
        case storageFull
        /// Stored bytes are damaged; see `Database.verify` and `Database.salvage`.
        case corrupted
        /// The database was written by a newer release.
        case unsupportedVersion
        /// The database is kept by a storage engine that this program does not have.
        case unsupportedStorageEngine
        /// The operating system refused to read or write.
        case io
        /// The work was cancelled; nothing of it was kept unless the method says otherwise.
        case cancelled
    }

    /// What the caller can do about it.
    public var code: Code
    /// One sentence: what happened and how to put it right.
    public var message: String
    /// The document concerned, where there is one.
    public var documentID: DocumentID?
    /// The revision concerned, where there is one.
    public var revisionID: RevisionID?
    /// The error below this one, where there is one.
    public var underlying: (any Error)?

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: What the caller can do about it.
    ///   - message: One sentence without document content.
    ///   - documentID: The document concerned.
    ///   - revisionID: The revision concerned.
    ///   - underlying: The cause.
    public init(
        _ code: Code,
        _ message: String,
        documentID: DocumentID? = nil,
        revisionID: RevisionID? = nil,
        underlying: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.documentID = documentID
        self.revisionID = revisionID
        self.underlying = underlying
    }
}

extension DatabaseError: CustomStringConvertible, CustomDebugStringConvertible {
    /// One line: the sentence, then the code.
    public var description: String { "\(message) (\(code.rawValue))" }

    /// The sentence, the code, the IDs and the cause, a line each.
    public var debugDescription: String {
        var lines = [message, "├─ code: \(code.rawValue)"]
        // What is no ID may be of any length.
        if let documentID { lines.append("├─ document: \(documentID.text.prefix(200))") }
        if let revisionID { lines.append("├─ revision: \(revisionID.description.prefix(200))") }
        if let underlying { lines.append("└─ cause: \(underlying)") }
        return lines.joined(separator: "\n")
    }
}
