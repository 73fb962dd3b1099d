// SPDX-License-Identifier: Apache-2.0

public import DivanJSON

/// Merges JSON values that were edited apart, property by property.
///
/// ```
/// ancestor  {"name": "Ann", "age": 30, "tags": ["a"]}
/// winner    {"name": "Ann", "age": 31, "tags": ["a", "b"]}
/// other     {"name": "Anna", "age": 30, "tags": ["a", "c"]}
/// merged    {"name": "Anna", "age": 31, "tags": ["a", "b"]}
/// ```
///
/// ## Rules
///
/// At each place, beginning with the whole document, compare what every side has there with what the
/// ancestor has; a property that is missing is a value like any other, *absent*. A side that has what
/// the ancestor has did not change the place.
///
/// 1. No side changed it: it stays.
/// 2. All sides that changed it agree: theirs.
/// 3. All sides that changed it have an object there, and the ancestor an object or nothing: the
///    members are merged by these rules, each by itself.
/// 4. Some sides changed it and others removed it: the change wins over the removal, so nothing
///    that a side wrote is lost.
/// 5. Otherwise: the first in winner order of the sides that changed it.
///
/// Arrays, and objects with a text `@type` (blobs), are single values: elements and members of them
/// are never mixed. Attachments are merged by name, and each is a single value; which generation
/// brought one (`revpos`) makes no difference.
///
/// Without an ancestor every property counts as new, so a removal cannot be told from a property
/// never set: the result has the properties of all sides.
///
/// The result depends on the values alone, so every device merges alike.
public enum ThreeWayMerge {
    private static let attachments = "_attachments"

    /// Merges the revisions of a conflict.
    ///
    /// - Parameter conflict: The conflict.
    /// - Returns: The merged properties, with `_attachments` where a revision has any.
    public static func merge(_ conflict: Conflict) -> JSONObject {
        merge(
            ancestor: conflict.ancestor?.bodyObject, sides: conflict.leaves.map(\.bodyObject),
            generation: conflict.winner.generation + 1)
    }

    /// Merges objects.
    ///
    /// - Parameters:
    ///   - ancestor: What they descend from; nil where that is not known.
    ///   - sides: The objects, the winner first.
    ///   - generation: The generation of the result, which attachments get that come from elsewhere
    ///     than the winner's branch.
    /// - Returns: The merged object; the order of its members says nothing.
    public static func merge(
        ancestor: JSONObject?, sides: [JSONObject], generation: UInt64 = 1
    ) -> JSONObject {
        var (base, bodies) = (ancestor ?? [:], sides)
        base[attachments] = nil
        for index in bodies.indices { bodies[index][attachments] = nil }
        var merged = members(base, bodies)
        let stubs = mergeAttachments(ancestor, sides, generation: generation)
        // An empty object says that the winner's attachments are not carried over either.
        if sides.contains(where: { $0[attachments] != nil }) {
            merged[attachments] = .object(stubs)
        }
        return merged
    }

    /// Merges the members of objects.
    private static func members(_ ancestor: JSONObject, _ sides: [JSONObject]) -> JSONObject {
        var merged: JSONObject = [:]
        for key in keys([ancestor] + sides) {
            merged[key] = value(ancestor[key], sides.map { $0[key] })
        }
        return merged
    }

    /// Merges the values of one place; nil is an absent one.
    private static func value(_ ancestor: JSONValue?, _ sides: [JSONValue?]) -> JSONValue? {
        let changed = sides.filter { $0 != ancestor }
        guard let first = changed.first else { return ancestor }
        if changed.allSatisfy({ $0 == first }) { return first }
        // Rule 4: a side that removed the place gives way to a side that wrote it.
        let written = changed.compactMap { $0 }
        let objects = written.compactMap(mergeable)
        if objects.count == written.count, objects.count > 1 {
            if ancestor == nil { return .object(members([:], objects)) }
            if let base = ancestor.flatMap(mergeable) { return .object(members(base, objects)) }
        }
        return written.first
    }

    /// The members of an object that may be merged one by one.
    private static func mergeable(_ value: JSONValue) -> JSONObject? {
        guard let object = value.object, object["@type"]?.string == nil else { return nil }
        return object
    }

    private static func mergeAttachments(
        _ ancestor: JSONObject?, _ sides: [JSONObject], generation: UInt64
    ) -> JSONObject {
        let base = ancestor?[attachments]?.object ?? [:]
        let all = sides.map { $0[attachments]?.object ?? [:] }
        var merged: JSONObject = [:]
        for name in keys([base] + all) {
            let old = base[name].map(content)
            let changed = all.filter { $0[name].map(content) != old }
            let source = changed.isEmpty ? all.first : changed.first { $0[name] != nil }
            guard let stub = source?[name] else { continue }
            let own = all.first?[name]
            // Content that the winner's branch has not had is new in the merged revision.
            let isOwn = own.map(content) == content(stub)
            merged[name] = isOwn ? own : placed(stub, at: generation)
        }
        return merged
    }

    /// A stub without `revpos`, which only says when the content came.
    private static func content(_ stub: JSONValue) -> JSONValue {
        guard var object = stub.object else { return stub }
        object["revpos"] = nil
        return .object(object)
    }

    private static func placed(_ stub: JSONValue, at generation: UInt64) -> JSONValue {
        guard var object = stub.object else { return stub }
        object["revpos"] = JSONValue(generation)
        return .object(object)
    }

    /// All keys, each once, in the order in which they are met.
    private static func keys(_ objects: [JSONObject]) -> [String] {
        // As values, which are compared by their bytes; Swift compares strings by how they look.
        var seen: Set<JSONValue> = []
        return objects.flatMap(\.keys).filter { seen.insert(.string($0)).inserted }
    }
}

extension Document {
    /// The whole body, with what belongs to the database.
    var bodyObject: JSONObject {
        if case .object(let object) = body.jsonValue() { object } else { [:] }
    }
}
