// SPDX-License-Identifier: Apache-2.0

internal import DivanModel

// What can be wrong with attachments and blobs; `label` is "Attachment 'name'" or "A blob".
extension DatabaseError {
    static func label(ofAttachment name: String) -> String { "Attachment '\(name.prefix(200))'" }

    /// A label in the middle of a sentence.
    static func inside(_ label: String) -> String {
        label.prefix(1).lowercased() + label.dropFirst()
    }

    static func attachmentName(_ name: String, _ id: DocumentID) -> DatabaseError {
        let problem =
            name.isEmpty
            ? "is empty"
            : name.utf8.contains(0) ? "holds the character NUL" : "begins with an underscore"
        return DatabaseError(
            .invalidDocument,
            "The name of an attachment of document '\(id)' \(problem), which other databases refuse; give "
                + "it another one.",
            documentID: id)
    }

    static func attachmentMalformed(_ name: String, _ id: DocumentID, _ problem: String)
        -> DatabaseError
    {
        DatabaseError(
            .invalidDocument,
            "\(label(ofAttachment: name)) of document '\(id)' \(problem); give it as a stub with its "
                + "digest, or with its content.", documentID: id)
    }

    /// Data in place that is no base64.
    static func attachmentData(_ name: String, _ id: DocumentID) -> DatabaseError {
        let error = attachmentMalformed(name, id, "has data that is not base64")
        return DatabaseError(
            error.code, error.message, documentID: id, underlying: NoBase64(name: name))
    }

    static func attachmentsMalformed(_ id: DocumentID) -> DatabaseError {
        DatabaseError(
            .invalidDocument,
            "The property '_attachments' of document '\(id)' is no object of objects; give an object "
                + "with one for each attachment.", documentID: id)
    }

    /// `found` is the length; nil when it is only known to be longer than declared.
    static func attachmentLength(_ label: String, _ id: DocumentID, found: Int?, declared: Int)
        -> DatabaseError
    {
        let found = found.map { "has \($0) bytes" } ?? "is longer"
        return DatabaseError(
            .invalidDocument,
            "\(label) of document '\(id)' \(found), but \(declared) were declared; nothing was saved, "
                + "give it whole.", documentID: id)
    }

    static func attachmentDigest(_ label: String, _ id: DocumentID, found: String, declared: String)
        -> DatabaseError
    {
        DatabaseError(
            .invalidDocument,
            "\(label) of document '\(id)' has the digest \(found), but \(declared.prefix(100)) was "
                + "declared; nothing was saved, give it unaltered.", documentID: id)
    }

    static func attachmentCoding(_ label: String, _ id: DocumentID) -> DatabaseError {
        DatabaseError(
            .invalidDocument,
            "\(label) of document '\(id)' is said to be gzip, but cannot be decoded; nothing was "
                + "saved, give it unaltered.", documentID: id)
    }

    static func attachmentSpent(_ label: String, _ id: DocumentID) -> DatabaseError {
        DatabaseError(
            .invalidDocument,
            "The stream of \(inside(label)) of document '\(id)' was read in part by a save that failed; set "
                + "it again from a new stream.", documentID: id)
    }

    /// A stub or an edit that needs content which is not here.
    static func attachmentUnknown(_ label: String, _ id: DocumentID) -> DatabaseError {
        DatabaseError(
            .attachmentNotFound,
            "\(label) of document '\(id)' is given without content, and its content is not stored "
                + "here; give it with its content.", documentID: id)
    }

    /// A stored revision whose content is not there.
    static func attachmentGone(_ label: String, _ id: DocumentID?, _ revision: RevisionID?)
        -> DatabaseError
    {
        let owner = id.map { " of document '\($0)'" } ?? ""
        return DatabaseError(
            .attachmentNotFound,
            "The content of \(inside(label))\(owner) is not stored here: it was removed with the revisions "
                + "that referred to it, never received, or lost; verify tells which.",
            documentID: id, revisionID: revision)
    }

    /// A blob of another database, which does not have the content any more.
    static func blobLeftBehind(_ cause: DatabaseError) -> DatabaseError {
        DatabaseError(
            .attachmentNotFound,
            "The content of a blob cannot be copied from the database that the blob was read from, which is "
                + "closed or does not have it; open that database and read the blob again, or make a "
                + "new one from its source.", underlying: cause)
    }

    static func attachmentsUnreadable(_ name: String) -> DatabaseError {
        DatabaseError(
            .io,
            "The attachments of the database '\(name)' cannot be read by this user; give the folder "
                + "'attachments' and its files to the user of this process.")
    }

    /// A document of another database, which is closed, with a blob that this one does not know.
    static func blobUnknown(_ id: DocumentID) -> DatabaseError {
        DatabaseError(
            .attachmentNotFound,
            "Document '\(id)' was read from a database that is closed, and the content of a blob in it is "
                + "not stored here; open that database and read the document again.", documentID: id
        )
    }

    static func attachmentDamaged(_ label: String, _ id: DocumentID?, _ revision: RevisionID?)
        -> DatabaseError
    {
        let owner = id.map { " of document '\($0)'" } ?? ""
        return DatabaseError(
            .corrupted,
            "The content of \(inside(label))\(owner) is damaged; run verify to list the damage, and set it "
                + "anew from its source.", documentID: id, revisionID: revision)
    }

    /// Content that arrived for a revision that was removed meanwhile.
    static func attachmentUnwanted(_ id: DocumentID?) -> DatabaseError {
        DatabaseError(
            .documentNotFound,
            "No stored revision of document '\(id ?? "")' refers to the content any more; it was purged "
                + "or compacted meanwhile, and nothing was kept.", documentID: id)
    }

    /// Content that cannot be given up.
    static func attachmentShared(_ id: DocumentID) -> DatabaseError {
        DatabaseError(
            .conflict,
            "The content of an attachment of document '\(id)' belongs to another document or to a blob, "
                + "too, and stays.", documentID: id)
    }
}

/// The cause of an error about data of an attachment that is no base64.
package struct NoBase64: Error, CustomStringConvertible {
    /// The name of the attachment.
    package let name: String

    /// What is wrong.
    package var description: String { "no base64" }
}
