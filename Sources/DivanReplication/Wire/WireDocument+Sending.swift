// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel

// A document on its way to a server.
extension WireDocument {
    /// Takes out attachments by their content, and gives their names.
    mutating func leaveOut(_ isLeftOut: (AttachmentContent) -> Bool) -> [String] {
        let names = inlineContents.filter { isLeftOut($0.value) }.keys.sortedByName
        guard !names.isEmpty, var entries = body["_attachments"]?.jsonValue().object else {
            return []
        }
        for name in names {
            inlineContents[name] = nil
            entries[name] = nil
        }
        let rest: JSONValue? = entries.isEmpty ? JSONValue?.none : .some(.object(entries))
        body = body.replacing(["_attachments": rest])
        return names
    }

    /// Whether content goes along that does not belong inside JSON: too long, alone or together.
    var hasLargeContent: Bool {
        var total = 0
        for content in inlineContents.values {
            guard let length = content.decodedLength, let stored = content.knownLength,
                max(length, stored) <= HTTPPeer.inlineLimit
            else { return true }
            total += length
        }
        return total > HTTPPeer.inlineTotal
    }

    /// How an attachment's content is written.
    enum Written {
        /// In place, as it is stored.
        case stored([UInt8])
        /// In place, decoded where it is stored coded.
        case decoded([UInt8])
        case follows
    }

    /// Appends the document as a target takes it, with the content that is given.
    func appendJSON(to text: inout [UInt8], contents: NameMap<Written>) {
        text.append(ascii: #"{"_id":"#)
        text.append(jsonString: id?.text ?? "")
        if let history {
            text.append(ascii: #","_rev":"#)
            text.append(jsonString: history.newest.description)
            text.append(ascii: #","_revisions":{"start":"#)
            text.append(contentsOf: String(history.newest.generation).utf8)
            text.append(ascii: #","ids":["#)
            for (index, id) in history.ids.enumerated() {
                if index > 0 { text.append(ascii: ",") }
                text.append(jsonString: id.digest)
            }
            text.append(ascii: "]}")
        }
        if isDeleted { text.append(ascii: #","_deleted":true"#) }
        var body = body
        if !contents.isEmpty, let entries = body["_attachments"], entries.isObject {
            text.append(ascii: #","_attachments":{"#)
            var isFirst = true
            entries.forEachProperty { name, entry in
                if !isFirst { text.append(ascii: ",") }
                isFirst = false
                text.append(jsonString: name)
                text.append(ascii: ":")
                Self.append(entry, contents[name], to: &text)
            }
            text.append(ascii: "}")
            body = body.replacing(["_attachments": JSONValue?.none])
        }
        let start = text.count
        body.appendJSON(to: &text)
        if text.count - start > 2 {
            text[start] = UInt8(ascii: ",")
        } else {
            text.removeLast(2)
            text.append(ascii: "}")
        }
    }

    /// Appends the entry of an attachment; the content that stands in it goes from bytes to text at once.
    private static func append(_ stub: PackedValue, _ written: Written?, to text: inout [UInt8]) {
        guard let written, var entry = stub.jsonValue().object else {
            return stub.appendJSON(to: &text)
        }
        entry["stub"] = nil
        entry["follows"] = nil
        let bytes: [UInt8]
        switch written {
        case .stored(let stored): bytes = stored
        case .decoded(let decoded):
            bytes = decoded
            // The digest is that of the stored bytes, which these are not when they are coded.
            if entry["encoding"] != nil { entry["digest"] = nil }
            entry["encoding"] = nil
            entry["encoded_length"] = nil
        case .follows:
            entry["follows"] = true
            return JSONWriter.append(.object(entry), to: &text)
        }
        JSONWriter.append(.object(entry), to: &text)
        text.removeLast()
        text.append(ascii: entry.isEmpty ? #""data":""# : #","data":""#)
        Base64.append(bytes, to: &text)
        text.append(ascii: #""}"#)
    }
}
