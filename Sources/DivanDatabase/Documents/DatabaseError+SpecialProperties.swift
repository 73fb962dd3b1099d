// SPDX-License-Identifier: Apache-2.0

internal import DivanModel

// What is wrong with reserved properties that a caller may give.
extension DatabaseError {
    static func changedID(_ id: DocumentID) -> DatabaseError {
        DatabaseError(
            .invalidID,
            "The property '_id' of document '\(id)' names another document, but an ID cannot be "
                + "changed; leave it out, or save the properties in the document of that ID.",
            documentID: id
        )
    }

    static func notBoolean(_ property: SpecialProperty, _ id: DocumentID) -> DatabaseError {
        DatabaseError(
            .invalidDocument,
            "The property '\(property.rawValue)' of document '\(id)' must be true, false or left "
                + "out.",
            documentID: id
        )
    }
}
