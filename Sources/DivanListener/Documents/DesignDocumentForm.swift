// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

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
enum DesignDocumentForm {
    private enum Kind: String {
        case string, object, array

        func isMatched(by value: PackedValue) -> Bool {
            switch self {
            case .string: value.kind == .string
            case .object: value.isObject
            case .array: value.kind == .array
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
    /// - Throws: `HTTPFailure` 400 that names the field.
    static func check(_ body: PackedValue) throws {
        for (name, kinds) in fields { try check(body[name], name, kinds) }
        for name in functions {
            try body[name]?.forEachProperty { key, value in
                try check(value, "\(name).\(key)", [.string, .object])
            }
        }
        // The views of indexes for selectors are no functions.
        let mapKind = body["language"]?.string == "query" ? Kind.object : .string
        try body["views"]?.forEachProperty { key, view in
            try check(view, "views.\(key)", [.object])
            if key == "lib" { return }
            guard view["map"] != nil else {
                throw failure("View `\(key.prefix(100))` must contain map function")
            }
            try check(view["map"], "views.\(key).map", [mapKind])
            try check(view["reduce"], "views.\(key).reduce", [.string])
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
