// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// The properties of a document that a query wants, each at its place.
///
///     fields    ["_id", "name", "address.zip"]
///     gives     {"_id": "x", "name": "Ann", "address": {"zip": "1010"}}
struct Projection: Sendable {
    private let paths: [PropertyPath]

    init(_ fields: [String]) throws {
        paths = try fields.map { field in
            do throws(PropertyPath.Failure) {
                return try PropertyPath(field, allowsBrackets: false)
            } catch {
                throw DatabaseError(
                    .invalidQuery, "The field '\(field)' cannot be: \(error.reason).")
            }
        }
    }

    /// A document as it stands in JSON, with its ID and revision.
    static func whole(_ document: Document) -> JSONObject {
        var object: JSONObject = [
            "_id": .string(document.id), "_rev": .string(document.revisionID),
        ]
        document.body.forEachProperty { object[$0] = $1.jsonValue() }
        return object
    }

    func properties(of document: Document) -> JSONObject {
        let subject = SelectorSubject(document, tellsDeletion: true)
        var object: JSONObject = [:]
        for path in paths {
            guard case .value(let value) = subject.target(path) else { continue }
            Self.set(value.jsonValue(), at: path.steps[...], in: &object)
        }
        return object
    }

    /// Sets a value, making objects on the way.
    private static func set(
        _ value: JSONValue, at steps: ArraySlice<PropertyPath.Step>, in object: inout JSONObject
    ) {
        guard let key = steps.first?.key else { return }
        guard steps.count > 1 else {
            object[key] = value
            return
        }
        var inner = object[key]?.object ?? [:]
        set(value, at: steps.dropFirst(), in: &inner)
        object[key] = .object(inner)
    }
}
