// SPDX-License-Identifier: Apache-2.0

package import DivanDatabase
package import DivanModel

/// One attachment whose content is not here, or is to go from here.
package struct WantedAttachment: Sendable {
    /// The document.
    package var documentID: DocumentID
    /// The revision that was seen with it.
    package var revisionID: RevisionID
    /// Its name.
    package var name: String
    /// The digest of its stored bytes.
    package var digest: String
    /// How many these are.
    package var storedLength: Int
    /// Whether they are coded by gzip.
    package var isCoded: Bool

    /// What an attachment says of itself; nil when it belongs to no stored revision.
    package init?(_ attachment: DocumentAttachment) {
        guard let owner = attachment.owner else { return nil }
        documentID = owner.documentID
        revisionID = owner.revisionID
        name = attachment.name
        digest = attachment.digest
        storedLength = attachment.storedLength
        isCoded = attachment.encoding != nil
    }
}

/// The stored bytes of an attachment on their way.
package struct ArrivingContent: Sendable {
    /// With which byte they begin: the one that was asked for, or the first.
    package var start: Int
    /// The bytes.
    package var pieces: any WirePieces
}

/// The other end of a replication, asked for single attachments.
package protocol AttachmentSource: Sendable {
    /// What logs and changes call it: its URL without credentials.
    var name: String { get }

    /// Opens the stored bytes of an attachment, from an offset on where that can be had.
    ///
    /// The revision that was seen may be gone there; then the current one serves. What comes is to be
    /// compared with the digest.
    ///
    /// - Throws: `ReplicationError`; `.notFound` when it is not there.
    func open(_ wanted: WantedAttachment, from offset: Int) async throws -> ArrivingContent

    /// Whether the other end has the content of an attachment, under its very revision.
    ///
    /// - Parameters:
    ///   - wanted: The attachment.
    ///   - md5: Gives the MD5 of the stored bytes here, for servers that know content by it.
    /// - Returns: Whether it has shown so; what it cannot show counts for nothing.
    /// - Throws: `ReplicationError`, and what `md5` throws.
    func has(_ wanted: WantedAttachment, md5: @Sendable () async throws -> String) async throws
        -> Bool
}

extension ReplicationError {
    /// An attachment that the other end does not have.
    static func noAttachment(_ wanted: WantedAttachment, at name: String) -> ReplicationError {
        ReplicationError(
            .notFound,
            "'\(name)' does not have the attachment '\(wanted.name.bounded)' of "
                + "'\(wanted.documentID)'.",
            status: 404, documentID: wanted.documentID)
    }
}
