// SPDX-License-Identifier: Apache-2.0

package import DivanDatabase
package import DivanJSON
package import DivanModel

/// What scripts are told, as JSON text.
package enum ScriptText {
    /// Parameters of a filter as scripts have them in `req.query`: as texts, as if they had stood in a URL, whichever way
    /// they came. Only of those by which views are asked JSON is read.
    static func query(_ parameters: JSONObject) -> JSONObject {
        var query: JSONObject = [:]
        for (name, value) in parameters {
            let isJSON = ["key", "startkey", "endkey"].contains(name)
            query[name] = isJSON ? value : .string(value.parameterText)
        }
        return query
    }

    /// Appends a document as scripts see it: its properties with those that CouchDB adds.
    ///
    ///     {"_id":"a","_rev":"2-…","_deleted":true,"name":"Ann","_attachments":{…},"_revisions":{…},"_conflicts":[…]}
    ///
    /// - Parameters:
    ///   - document: The revision.
    ///   - history: The revision and its ancestors for `_revisions`, newest first; none to leave it out.
    ///   - tree: The document's tree for `_conflicts` and `_deleted_conflicts`; nil to leave them out.
    ///   - showsDeletedConflicts: Whether it has `_deleted_conflicts`.
    ///   - showsSequence: Whether it has `_local_seq`.
    ///   - bytes: Where it is appended.
    package static func append(
        _ document: Document, history: [RevisionID] = [], tree: RevisionTree? = nil,
        showsDeletedConflicts: Bool = true, showsSequence: Bool = false, to bytes: inout [UInt8]
    ) {
        raw("{\"_id\":", &bytes)
        append(.string(document.id.text), to: &bytes)
        raw(",\"_rev\":", &bytes)
        append(.string(document.revisionID.description), to: &bytes)
        if document.isDeleted { raw(",\"_deleted\":true", &bytes) }
        let start = bytes.count
        document.body.appendJSON(to: &bytes)
        // `{"a":1}` becomes `,"a":1`, and `{}` nothing.
        bytes.removeLast()
        if bytes.count == start + 1 {
            bytes.removeLast()
        } else {
            bytes[start] = UInt8(ascii: ",")
        }
        if showsSequence {
            raw(",\"_local_seq\":", &bytes)
            raw("\(document.sequence)", &bytes)
        }
        if let newest = history.first {
            raw(",\"_revisions\":{\"start\":\(newest.generation),\"ids\":", &bytes)
            append(.array(history.map { .string($0.digest) }), to: &bytes)
            bytes.append(UInt8(ascii: "}"))
        }
        if let tree { append(conflictsOf: document, tree, showsDeletedConflicts, to: &bytes) }
        bytes.append(UInt8(ascii: "}"))
    }

    /// Appends some properties of a document, those of them that it has.
    ///
    /// - Parameters:
    ///   - document: The revision.
    ///   - properties: The properties.
    ///   - bytes: Where they are appended, as an object.
    static func append(
        _ document: Document, only properties: [ShownProperty], to bytes: inout [UInt8]
    ) {
        bytes.append(UInt8(ascii: "{"))
        let start = bytes.count
        for property in properties where property.append(of: document, to: &bytes) {
            bytes.append(UInt8(ascii: ","))
        }
        // `{"a":1,` becomes `{"a":1}`.
        if bytes.count > start { bytes.removeLast() }
        bytes.append(UInt8(ascii: "}"))
    }

    private static func append(
        conflictsOf document: Document, _ tree: RevisionTree, _ showsDeleted: Bool,
        to bytes: inout [UInt8]
    ) {
        let others = tree.leaves.filter { $0.id != document.revisionID }
        for (name, isDeleted) in [("_conflicts", false), ("_deleted_conflicts", true)] {
            let leaves = others.filter { $0.isTombstone == isDeleted }
            guard !leaves.isEmpty, !isDeleted || showsDeleted else { continue }
            raw(",\"\(name)\":", &bytes)
            append(.array(leaves.map { .string($0.id.description) }), to: &bytes)
        }
    }

    /// A document as ``append(_:history:tree:showsSequence:to:)`` writes it; `null` for none.
    package static func text(_ document: Document?, history: [RevisionID] = []) -> [UInt8] {
        guard let document else { return Array("null".utf8) }
        var bytes: [UInt8] = []
        append(document, history: history, to: &bytes)
        return bytes
    }

    /// A value as text.
    package static func text(_ value: JSONValue) -> [UInt8] {
        var bytes: [UInt8] = []
        append(value, to: &bytes)
        return bytes
    }

    /// An array of texts.
    package static func array(_ items: [[UInt8]]) -> [UInt8] {
        var bytes = [UInt8(ascii: "[")]
        for (index, item) in items.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += item
        }
        bytes.append(UInt8(ascii: "]"))
        return bytes
    }

    /// A command: an array of a name and texts.
    package static func command(_ name: String, _ items: [UInt8]...) -> [UInt8] {
        array([text(.string(name))] + items)
    }

    private static func append(_ value: JSONValue, to bytes: inout [UInt8]) {
        JSONWriter.append(value, to: &bytes)
    }

    private static func raw(_ text: String, _ bytes: inout [UInt8]) { bytes += text.utf8 }
}
