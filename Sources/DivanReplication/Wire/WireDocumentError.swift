// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
package import DivanModel

/// Why something that a peer sent is no document: one sentence about one document.
///
/// The others that came with it go on.
package struct WireDocumentError: Error, Sendable, Equatable {
    /// What is wrong, by what an HTTP answer would call it.
    package enum Reason: Sendable, Equatable {
        /// The text is no JSON.
        case malformedJSON
        /// It is no JSON object.
        case notAnObject
        /// Its `_id` is missing or breaks the rules for IDs.
        case invalidID
        /// Its `_rev` or `_revisions` is missing or malformed.
        case invalidRevision
        /// It has a property that begins with an underscore and has no meaning.
        case reservedProperty
        /// Its `_attachments` cannot be understood.
        case invalidAttachments
    }

    /// What is wrong.
    package var reason: Reason
    /// One sentence, without the document's content.
    package var message: String
    /// The document's ID, as far as it could be read.
    package var documentID: DocumentID?

    /// Makes an error.
    package init(_ reason: Reason, _ message: String, documentID: DocumentID? = nil) {
        self.reason = reason
        self.message = message
        self.documentID = documentID
    }
}

extension WireDocumentError: CustomStringConvertible {
    /// The sentence.
    package var description: String { message }
}

// The sentences.
extension WireDocumentError {
    static func malformedJSON(_ failure: JSONParser.Failure) -> Self {
        Self(.malformedJSON, "A document is not JSON that can be read here: \(failure)")
    }

    static func notAnObject() -> Self {
        Self(.notAnObject, "A document must be a JSON object.")
    }

    static func invalidID(_ text: String?, _ failure: IDFailure? = nil) -> Self {
        guard let text else { return Self(.invalidID, "A document's _id must be a string.") }
        let why = failure.map(\.description) ?? "It is missing."
        return Self(.invalidID, "'\(text.bounded)' is no document ID: \(why)")
    }

    static func missingID() -> Self { Self(.invalidID, "A document has no _id.") }

    static func invalidRevision(_ id: DocumentID?, _ problem: String) -> Self {
        Self(
            .invalidRevision, "The document '\((id?.text ?? "?").bounded)' \(problem).",
            documentID: id)
    }

    static func reserved(_ key: String, _ id: DocumentID?) -> Self {
        Self(
            .reservedProperty, "Bad special document member: \(key.bounded)", documentID: id)
    }

    static func attachments(_ id: DocumentID?, _ problem: String) -> Self {
        Self(
            .invalidAttachments,
            "The attachments of the document '\((id?.text ?? "?").bounded)' \(problem).",
            documentID: id)
    }
}
