// SPDX-License-Identifier: Apache-2.0

package import DivanJSON

extension PackedValue {
    /// The contents that a body refers to, in `_attachments` and in blobs, each once.
    ///
    /// A body without either costs one search for the bytes that every blob has.
    package var attachmentKeys: [AttachmentKey] {
        var keys: [AttachmentKey] = []
        func add(_ key: AttachmentKey?) {
            if let key, !keys.contains(key) { keys.append(key) }
        }
        self["_attachments"]?.forEachProperty { _, stub in
            add(stub["digest"]?.string.flatMap(AttachmentKey.init(ofStub:)))
        }
        if mayHoldBlobs {
            forEachBlob { add($0["digest"]?.string.flatMap(AttachmentKey.init(digest:))) }
        }
        return keys
    }

    /// Whether the bytes hold `"@type":"blob"` as a blob packs it; false only when there is no blob.
    var mayHoldBlobs: Bool { withBytes { BlobMark.occurs(in: $0) } }

    /// Calls `body` for each blob, at any depth.
    func forEachBlob(_ body: (PackedValue) -> Void) {
        switch kind {
        case .array: forEachElement { $0.forEachBlob(body) }
        case .object:
            if Blob.typeName.hasSameBytes(as: self["@type"]?.string) { body(self) }
            forEachProperty { _, value in value.forEachBlob(body) }
        default: break
        }
    }
}

extension JSONValue {
    /// Calls `body` with the object of each blob, at any depth.
    func forEachBlob(_ body: (JSONObject) -> Void) {
        switch self {
        case .array(let elements): for element in elements { element.forEachBlob(body) }
        case .object(let object):
            if Blob.typeName.hasSameBytes(as: object["@type"]?.string) { body(object) }
            for (_, value) in object { value.forEachBlob(body) }
        default: break
        }
    }
}
