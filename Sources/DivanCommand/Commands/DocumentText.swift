// SPDX-License-Identifier: Apache-2.0

internal import Divan

/// Writes documents as JSON text, with ID and revision in front as CouchDB has them.
///
/// Bytes are joined, never values: the body's text goes out as it was stored.
enum DocumentText {
    static func json(_ document: Document) -> [UInt8] {
        var text = head(document)
        appendBody(document.body, to: &text)
        return text
    }

    /// The opening brace and what stands before the body.
    static func head(_ document: Document) -> [UInt8] {
        var text = Array("{".utf8)
        append("_id", .string(document.id.text), to: &text)
        append("_rev", .string(document.revisionID.description), to: &text)
        if document.isDeleted { append("_deleted", .bool(true), to: &text) }
        return text
    }

    /// A local document, which has no revision to show.
    static func json(local id: DocumentID, _ properties: JSONObject) -> [UInt8] {
        var text = Array("{".utf8)
        append("_id", .string(id.text), to: &text)
        appendBody(PackedValue(.object(properties)), to: &text)
        return text
    }

    static func body(_ document: Document) -> [UInt8] {
        var text: [UInt8] = []
        document.body.appendJSON(to: &text)
        return text
    }

    /// Writes the answer of a command that has stored something.
    static func receipt(_ document: Document) -> [UInt8] {
        var text = Array("{".utf8)
        append("id", .string(document.id.text), to: &text)
        append("rev", .string(document.revisionID.description), to: &text)
        if document.isDeleted { append("deleted", .bool(true), to: &text) }
        text.append(JSONByte.closeBrace)
        return text
    }

    static func append(_ key: String, _ value: JSONValue, to text: inout [UInt8]) {
        if text.last != JSONByte.openBrace { text.append(JSONByte.comma) }
        JSONWriter.append(.string(key), to: &text)
        text.append(JSONByte.colon)
        JSONWriter.append(value, to: &text)
    }

    /// Appends the members of an object and the closing brace.
    private static func appendBody(_ body: PackedValue, to text: inout [UInt8]) {
        appendMembers(of: body, to: &text)
        text.append(JSONByte.closeBrace)
    }

    /// Appends the members of an object.
    static func appendMembers(of body: PackedValue, to text: inout [UInt8]) {
        var members: [UInt8] = []
        body.appendJSON(to: &members)
        guard members.count > 2 else { return }
        if text.last != JSONByte.openBrace { text.append(JSONByte.comma) }
        text += members[1..<(members.count - 1)]
    }
}
