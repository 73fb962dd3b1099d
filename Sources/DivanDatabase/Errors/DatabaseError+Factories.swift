// SPDX-License-Identifier: Apache-2.0

package import DivanModel

// The sentences that several callers need, in one place, so that they read alike and can be tested.
extension DatabaseError {
    static func conflict(_ id: DocumentID, parent: RevisionID?) -> DatabaseError {
        let problem =
            if let parent {
                "Document '\(id)' has changed since revision \(parent)"
            } else {
                "Document '\(id)' already exists"
            }
        return DatabaseError(
            .conflict, "\(problem); read its current revision and apply the edit to that.",
            documentID: id, revisionID: parent
        )
    }

    static func documentNotFound(_ id: DocumentID) -> DatabaseError {
        DatabaseError(
            .documentNotFound, "There is no document '\(id)'; check the ID or create it first.",
            documentID: id
        )
    }

    static func revisionNotFound(_ id: DocumentID, _ revision: RevisionID) -> DatabaseError {
        DatabaseError(
            .revisionNotFound,
            "Document '\(id)' has no revision \(revision); list its history to see which it has.",
            documentID: id, revisionID: revision
        )
    }

    static func noLiveLeaf(_ id: DocumentID, _ revision: RevisionID) -> DatabaseError {
        DatabaseError(
            .revisionNotFound,
            "Revision \(revision) is no live leaf of document '\(id)'; keep one of the revisions that "
                + "conflict.",
            documentID: id, revisionID: revision
        )
    }

    static func bodyGone(_ id: DocumentID, _ revision: RevisionID) -> DatabaseError {
        DatabaseError(
            .revisionNotFound,
            "The body of revision \(revision) of document '\(id)' is not stored here: it was "
                + "compacted away or never received.",
            documentID: id, revisionID: revision
        )
    }

    static func parentUnread(_ id: DocumentID, _ revision: RevisionID) -> DatabaseError {
        DatabaseError(
            .revisionNotFound,
            "The new revision of document '\(id)' would lose the properties of its parent "
                + "\(revision), which could not be read when it was made; make it anew once the parent "
                + "can be read, or give it all of its properties.",
            documentID: id, revisionID: revision)
    }

    static func lastGeneration(_ id: DocumentID, _ revision: RevisionID?) -> DatabaseError {
        DatabaseError(
            .invalidDocument,
            "Document '\(id)' is at the highest generation a revision can have; purge it and create "
                + "it anew.",
            documentID: id, revisionID: revision
        )
    }

    static func reservedKey(_ key: String, _ id: DocumentID?) -> DatabaseError {
        DatabaseError(
            .invalidDocument,
            "The key '\(key)'\(of(id)) is reserved, as is every top-level key that begins with '_'; "
                + "rename it.",
            documentID: id
        )
    }

    static func foreignAttachment(_ name: String, _ id: DocumentID) -> DatabaseError {
        DatabaseError(
            .invalidDocument,
            "No revision in the conflict of document '\(id)' has the attachment that was to be kept as "
                + "'\(name.prefix(60))'; keep one that a revision has, and add others after resolving.",
            documentID: id
        )
    }

    static func notAnObject(_ id: DocumentID?) -> DatabaseError {
        DatabaseError(
            .invalidDocument, "The body\(of(id)) is no JSON object; wrap it in one.",
            documentID: id
        )
    }

    static func tooLarge(_ id: DocumentID, bytes: Int, limit: Int) -> DatabaseError {
        DatabaseError(
            .invalidDocument,
            "The body of document '\(id)' is \(bytes) bytes, over the limit of \(limit); make it "
                + "smaller, use an attachment, or open the database with a higher limit.",
            documentID: id, underlying: DocumentTooLarge(bytes: bytes, limit: limit)
        )
    }

    static func invalidID(_ id: DocumentID, _ cause: any Error) -> DatabaseError {
        DatabaseError(.invalidID, "\(cause)", documentID: id, underlying: cause)
    }

    /// The ID of a local document was given where a document with revisions is meant.
    static func localID(_ id: DocumentID) -> DatabaseError {
        DatabaseError(
            .invalidID,
            "'\(id.text.prefix(200))' names a local document, which has no revisions; read and write it "
                + "as a local document.", documentID: id)
    }

    static func invalidRevision(
        _ revision: RevisionID?, of id: DocumentID, _ cause: any Error
    ) -> DatabaseError {
        DatabaseError(
            .invalidID, "\(cause)", documentID: id, revisionID: revision, underlying: cause)
    }

    static func invalidName(_ name: String) -> DatabaseError {
        DatabaseError(
            .invalidName,
            "'\(name.prefix(60))' is no database name: use 1 to 239 of the characters a-z, 0-9 and "
                + "_$()+-/, beginning with a letter."
        )
    }

    /// No database lies at a path.
    package static func databaseNotFound(_ path: String) -> DatabaseError {
        DatabaseError(
            .databaseNotFound,
            "There is no database at '\(path)'; check the path, or create the database."
        )
    }

    /// The directory has the data of a database, and no manifest.
    static func manifestLost(_ path: String) -> DatabaseError {
        DatabaseError(
            .corrupted,
            "The database at '\(path)' has lost its file 'manifest', and nothing was changed; put the "
                + "file back, or copy the documents out with salvage, or remove the directory."
        )
    }

    /// The place of a new database is taken.
    package static func databaseExists(_ path: String) -> DatabaseError {
        DatabaseError(
            .databaseExists,
            "There is something at '\(path)' already; name a path where nothing is yet, or remove it."
        )
    }

    /// A database that is open here cannot be replaced.
    package static func replacedWhileOpen(_ name: String) -> DatabaseError {
        DatabaseError(
            .databaseBusy,
            "The database '\(name)' is open in this process and cannot be replaced meanwhile; close "
                + "every handle of it and try again."
        )
    }

    static func writtenTooFast(_ name: String) -> DatabaseError {
        DatabaseError(
            .databaseBusy,
            "Others wrote so much to '\(name)' meanwhile that its log grew long; try again when less "
                + "is written, or work on a copy of the database."
        )
    }

    static func closed(_ name: String) -> DatabaseError {
        DatabaseError(
            .databaseClosed, "The database '\(name)' is closed or deleted; open it again to use it."
        )
    }

    static func directoryVanished(_ path: String) -> DatabaseError {
        DatabaseError(
            .io,
            "The directory of the open database at '\(path)' was deleted or replaced, so nothing "
                + "was changed; close the database and restore or recreate it."
        )
    }

    /// Another process or handle has the database.
    package static func busy(_ path: String) -> DatabaseError {
        DatabaseError(
            .databaseBusy,
            "The database at '\(path)' is in use elsewhere; close it there and try again."
        )
    }

    static func insideBatch(_ name: String) -> DatabaseError {
        DatabaseError(
            .databaseBusy,
            "The database '\(name)' cannot be compacted, copied, synced or deleted inside a batch of "
                + "its own; do that after the batch."
        )
    }

    /// A read of the database is in progress on this thread.
    package static func writeInsideRead(_ name: String) -> DatabaseError {
        DatabaseError(
            .readOnly,
            "Neither the database '\(name)' nor its indexes can be changed inside a read of it, which "
                + "would not see that; do it outside, or put the read into a batch."
        )
    }

    static func overtaken(_ id: DocumentID, attempts: Int) -> DatabaseError {
        DatabaseError(
            .conflict,
            "The document '\(id)' was changed during each of \(attempts) attempts to edit it; leave it "
                + "unchanged inside the edit, or try again when others write less.",
            documentID: id)
    }

    static func readOnly(_ name: String) -> DatabaseError {
        DatabaseError(
            .readOnly, "The database '\(name)' was opened read-only; open it writable to change it."
        )
    }

    static func unsupportedVersion(_ path: String, found: Int, known: Int) -> DatabaseError {
        DatabaseError(
            .unsupportedVersion,
            "The database at '\(path)' has format \(found), but this release knows formats up to "
                + "\(known); open it with a newer release."
        )
    }

    /// Something stored is damaged.
    package static func corrupted(_ what: String, _ id: DocumentID?, _ cause: (any Error)? = nil)
        -> DatabaseError
    {
        DatabaseError(
            .corrupted,
            "\(what)\(of(id)) is damaged; run verify to list the damage and salvage to copy the rest.",
            documentID: id, underlying: cause
        )
    }

    static func filterNotFound(_ name: String) -> DatabaseError {
        DatabaseError(
            .invalidQuery,
            "There is no filter named '\(name.prefix(60))'; the app that has the database open registers it."
        )
    }

    static func insideValidation(_ name: String) -> DatabaseError {
        DatabaseError(
            .databaseBusy,
            "A validation function cannot write to the database '\(name)' that it validates; write "
                + "after the save, or make the change a part of it."
        )
    }

    /// An index is damaged.
    package static func damagedIndex(_ name: String, _ cause: (any Error)?) -> DatabaseError {
        DatabaseError(
            .corrupted,
            "The index '\(name)' is damaged; delete it, and the next query builds it anew.",
            underlying: cause
        )
    }

    /// A view without a map function was queried.
    package static func viewWithoutMap(_ name: String) -> DatabaseError {
        DatabaseError(
            .invalidQuery,
            "The view '\(name)' has no map function in this process; give it one before querying it."
        )
    }

    /// The app's reduce function threw an error.
    package static func reduceFailed(_ view: String, _ cause: any Error) -> DatabaseError {
        DatabaseError(
            .invalidQuery, "The reduce function of the view '\(view)' failed: \(cause)",
            underlying: cause
        )
    }

    static func writeInsideMap(_ name: String) -> DatabaseError {
        DatabaseError(
            .invalidQuery,
            "A map or reduce function tried to change the database '\(name)'; it may only read the "
                + "document that it is given."
        )
    }

    static func cancelled() -> DatabaseError {
        DatabaseError(.cancelled, "The work was cancelled before it finished.")
    }

    private static func of(_ id: DocumentID?) -> String { id.map { " of document '\($0)'" } ?? "" }
}

/// The cause of an error about a body that is over the limit of its database.
package struct DocumentTooLarge: Error, CustomStringConvertible {
    let bytes: Int
    let limit: Int

    /// Both numbers.
    package var description: String { "\(bytes) bytes of at most \(limit)" }
}
