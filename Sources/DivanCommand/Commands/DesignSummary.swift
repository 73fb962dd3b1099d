// SPDX-License-Identifier: Apache-2.0

internal import Divan

/// What `divan design list` shows of a design document.
struct DesignSummary {
    /// What a design document may have, and how one of each kind is called.
    private static let kinds = [
        ("views", "view"), ("filters", "filter"), ("updates", "update"), ("shows", "show"),
        ("lists", "list"),
    ]

    private let document: Document
    /// The language of the functions.
    let language: String

    init(_ document: Document) {
        self.document = document
        language = document["language"].string ?? "javascript"
    }

    private var rewrites: Bool { document["rewrites"].exists }
    private var validates: Bool { document["validate_doc_update"].string != nil }

    private func count(_ kind: String) -> Int {
        guard let functions = document.body[kind], functions.isObject else { return 0 }
        // Modules that map functions require lie among the views.
        let isLibrary = kind == "views" && functions["lib"]?["map"] == nil
        return functions.count - (isLibrary && functions["lib"] != nil ? 1 : 0)
    }

    /// "2 views, 1 filter, validates"
    var words: String {
        var words = Self.kinds.compactMap { kind, noun in
            count(kind) == 0 ? nil : Quantity.counted(count(kind), noun)
        }
        if rewrites { words.append("rewrites") }
        if validates { words.append("validates") }
        return words.isEmpty ? "no functions" : words.joined(separator: ", ")
    }

    /// The same as a JSON object.
    var json: [UInt8] {
        var text = Array("{".utf8)
        DocumentText.append("id", .string(document.id.text), to: &text)
        DocumentText.append("rev", .string(document.revisionID.description), to: &text)
        DocumentText.append("language", .string(language), to: &text)
        for (kind, _) in Self.kinds { DocumentText.append(kind, JSONValue(count(kind)), to: &text) }
        DocumentText.append("rewrites", .bool(rewrites), to: &text)
        DocumentText.append("validates", .bool(validates), to: &text)
        text.append(JSONByte.closeBrace)
        return text
    }
}
