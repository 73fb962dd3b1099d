// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel
internal import Synchronization

/// One stored revision with its body, and all properties once a caller has asked for them.
///
/// A single property is looked up in the packed body and decoded alone. The object of all
/// properties is made when it is first wanted and kept, so asking again costs nothing; one mutex
/// guards it.
final class RevisionContents: Sendable {
    let document: Document
    /// Whether the body is here; without one only the special properties are known.
    let hasBody: Bool
    private let decoded = Mutex<JSONObject?>(nil)

    init(_ document: Document, hasBody: Bool = true) {
        self.document = document
        self.hasBody = hasBody
    }

    var revision: RevisionID { document.revisionID }
    var sequence: SequenceNumber { document.sequence }
    var isDeletion: Bool { document.isDeleted }

    /// Whether the document is deleted here, or was taken away from this database by its source.
    var isGone: Bool { isDeletion || document.body[SpecialProperty.removed.rawValue]?.bool == true }

    /// All properties, the special ones first.
    var properties: JSONObject {
        if let decoded = decoded.withLock({ $0 }) { return decoded }
        // Outside the mutex; a thread that loses a race has done it for nothing.
        var object: JSONObject = [
            SpecialProperty.id.rawValue: .string(document.id.text),
            SpecialProperty.revision.rawValue: .string(document.revisionID.description),
        ]
        if isDeletion { object[SpecialProperty.deleted.rawValue] = true }
        if case .object(let stored) = document.body.jsonValue() {
            for (key, value) in stored { object[key] = value }
        }
        return decoded.withLock { decoded in
            decoded = object
            return object
        }
    }

    subscript(key: String) -> Fragment {
        if let value = document.body[key] { return Fragment(value) }
        switch SpecialProperty(rawValue: key) {
        case .id: return Fragment(document.id)
        case .revision: return Fragment(document.revisionID)
        case .deleted where isDeletion: return true
        default: return Fragment(JSONValue?.none)
        }
    }

    var keys: [String] {
        var keys = [SpecialProperty.id.rawValue, SpecialProperty.revision.rawValue]
        if isDeletion { keys.append(SpecialProperty.deleted.rawValue) }
        return keys + document.body.keys
    }

    var count: Int { document.body.count + (isDeletion ? 3 : 2) }
}
