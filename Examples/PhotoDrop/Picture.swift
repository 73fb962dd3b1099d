// SPDX-License-Identifier: Apache-2.0

import Divan

/// A picture that is sent: a document with an attachment.
///
/// The receiver answers in the document itself. It is synchronised both ways, so the sender sees the answer.
struct Picture: DocumentModel {
    static let documentType: String? = "picture"
    /// The name of the attachment.
    static let content = "content"

    var identity = ModelIdentity()
    /// The name of the file.
    var name: String
    /// Whether the receiver has stored it.
    var isStored = false
    /// Why the receiver could not store it.
    var problem: String?
}
