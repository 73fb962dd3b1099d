// SPDX-License-Identifier: Apache-2.0

internal import DivanDesign
package import DivanJSON
internal import DivanQuery

/// What CouchDB asks of the form of a design document.
///
///     {"language": "javascript",
///      "views": {"byName": {"map": "function …", "reduce": "_count"},
///                "lib": {…}},                                   modules, of any form
///      "filters": {"mine": "function …"},
///      "validate_doc_update": "function …"}
///
/// A document of another form is refused, since CouchDB refuses it, too: its replicator stops for
/// good at one that it pulls. What the functions say is not looked at.
package enum DesignDocumentForm {
    private enum Kind: String {
        case string, object, array, boolean

        func isMatched(by value: PackedValue) -> Bool {
            switch self {
            case .string: value.kind == .string
            case .object: value.isObject
            case .array: value.kind == .array
            case .boolean: value.bool != nil
            }
        }
    }

    private static let fields: [(name: String, kinds: [Kind])] = [
        ("language", [.string]), ("validate_doc_update", [.string]), ("options", [.object]),
        ("rewrites", [.array, .string]), ("views", [.object]), ("filters", [.object]),
        ("lists", [.object]), ("shows", [.object]), ("updates", [.object]),
    ]
    /// Fields that hold functions by their names.
    private static let functions = ["filters", "lists", "shows", "updates"]

    /// Refuses a body that has another form.
    ///
    /// - Parameters:
    ///   - body: The body of a design document.
    ///   - inPartitions: Whether the database is partitioned, so that views may be made for partitions.
    /// - Throws: `HTTPFailure` 400 that names the field.
    static func check(_ body: PackedValue, inPartitions: Bool = false) throws {
        let isQuery = body["language"]?.string == QueryIndexes.language
        for (name, kinds) in fields {
            // A rule in the language `query` is a selector.
            let isRule = isQuery && name == "validate_doc_update"
            try check(body[name], name, isRule ? [.string, .object] : kinds)
        }
        if isQuery, let rule = body["validate_doc_update"], rule.isObject {
            do { _ = try DocumentSelector(json: rule.jsonValue()) } catch {
                throw failure("`validate_doc_update` is no selector: \(error)")
            }
        }
        for name in ["include_design", "local_seq", "partitioned"] {
            try check(body["options"]?[name], "options.\(name)", [.boolean])
        }
        if !inPartitions, body["options"]?["partitioned"]?.bool == true {
            throw failure("partitioned option cannot be true in a non-partitioned database.")
        }
        for name in functions {
            try body[name]?.forEachProperty { key, value in
                try check(value, "\(name).\(key)", [.string, .object])
            }
        }
        // The views of indexes for selectors are no functions.
        let mapKind = isQuery ? Kind.object : .string
        try body["views"]?.forEachProperty { key, view in
            try check(view, "views.\(key)", [.object])
            if key == "lib" { return }
            guard view["map"] != nil else {
                throw failure("View `\(key.prefix(100))` must contain map function")
            }
            try check(view["map"], "views.\(key).map", [mapKind])
            try check(view["reduce"], "views.\(key).reduce", [.string])
            if let reduce = view["reduce"]?.string, reduce.utf8.first == UInt8(ascii: "_"),
                let problem = BuiltInReduce.problem(with: reduce)
            {
                throw failure(problem)
            }
        }
    }

    /// What is wrong with the form of a body; nil when nothing is.
    ///
    /// - Parameter body: The body of a design document, of a database of whichever kind.
    /// - Returns: A sentence that names the field.
    package static func problem(of body: PackedValue) -> String? {
        do {
            try check(body, inPartitions: true)
            return nil
        } catch {
            return (error as? HTTPFailure)?.reason ?? "The form is not that of a design document"
        }
    }

    private static func check(_ value: PackedValue?, _ name: String, _ kinds: [Kind]) throws {
        guard let value, !kinds.contains(where: { $0.isMatched(by: value) }) else { return }
        let names = kinds.map(\.rawValue).joined(separator: " or ")
        throw failure("`\(name.prefix(100))` field must have \(names) type")
    }

    private static func failure(_ reason: String) -> HTTPFailure {
        HTTPFailure(400, "invalid_design_doc", reason).ofDocument
    }
}
