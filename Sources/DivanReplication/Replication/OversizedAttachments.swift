// SPDX-License-Identifier: Apache-2.0

/// What becomes of a document that a push sends to a server, when one of its attachments is too large there.
///
/// ```swift
/// let push = database.push(to: url) {
///     $0.oversizedAttachments = .leaveOut(above: 20_000_000)      // what a Sync Gateway takes
/// }
/// ```
public enum OversizedAttachments: Sendable, Hashable {
    /// The document does not go: it is told of as `.rejected`, and offered again when it changes.
    case keepDocumentBack
    /// The document goes without that attachment: one that is longer than `above` bytes as it is stored, or that
    /// the server answers with 413. It is told of as `.attachmentTooLarge`.
    ///
    /// The server then has the same revision with fewer attachments, and an edit there makes a revision
    /// without them. What is here stays whole, until such an edit comes back.
    case leaveOut(above: Int = .max)

    /// The longest attachment that goes along, where others are left out.
    var limit: Int? {
        switch self {
        case .keepDocumentBack: nil
        case .leaveOut(let limit): limit
        }
    }
}
