// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel

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
            "_id": .string(document.id.text), "_rev": .string(document.revisionID.description),
        ]
        document.body.forEachProperty { object[$0] = $1.jsonValue() }
        return object
    }

    /// Whether it wants a property, or what lies behind it.
    func wants(_ property: PropertyPath) -> Bool {
        paths.contains { $0.steps.starts(with: property.steps) }
    }

    func properties(of subject: SelectorSubject) -> JSONObject {
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

extension Projection {
    /// The wanted properties on their way to text.
    private final class Node {
        /// What stands here; nil for an object of others.
        var value: PackedValue?
        var keys: [String] = []
        var members: NameMap<Node> = [:]

        /// Puts a value at its place, making objects on the way.
        func set(_ value: PackedValue, at steps: ArraySlice<PropertyPath.Step>) {
            guard let key = steps.first?.key else { return }
            let member = members[key] ?? Node()
            if members[key] == nil {
                keys.append(key)
                members[key] = member
            }
            if steps.count == 1 {
                member.value = value
            } else if member.value == nil {
                // What lies inside of a value that stands there already stands there, too.
                member.set(value, at: steps.dropFirst())
            }
        }

        func appendJSON(to text: inout [UInt8]) {
            if let value { return value.appendJSON(to: &text) }
            text.append(UInt8(ascii: "{"))
            for (index, key) in keys.enumerated() {
                if index > 0 { text.append(UInt8(ascii: ",")) }
                JSONWriter.append(.string(key), to: &text)
                text.append(UInt8(ascii: ":"))
                members[key]?.appendJSON(to: &text)
            }
            text.append(UInt8(ascii: "}"))
        }
    }

    /// Writes the properties as text, without making values of them.
    func appendJSON(of subject: SelectorSubject, to text: inout [UInt8]) {
        let root = Node()
        for path in paths {
            guard case .value(let value) = subject.target(path) else { continue }
            root.set(value, at: path.steps[...])
        }
        root.appendJSON(to: &text)
    }
}
