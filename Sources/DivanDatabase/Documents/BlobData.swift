// SPDX-License-Identifier: Apache-2.0

package import DivanJSON
package import DivanModel

// The content of a blob inside its object, as base64 under `data`:
//
//     {"@type": "blob", "content_type": "text/plain", "data": "aGVsbG8=", "digest": "sha1-…", "length": 5}
//
// `divan export` writes it so, and `divan import` takes it from there. No database stores it so, and no peer sends it.

extension Document {
    /// The body with the content of its blobs in place.
    ///
    /// - Parameter isWanted: Says of each blob whether its content is wanted.
    /// - Returns: The stored body where there is no blob.
    /// - Throws: As `Blob.content()`, and what `isWanted` throws.
    package func bodyWithBlobData(_ isWanted: (Blob) throws -> Bool) throws -> PackedValue {
        guard body.mayHoldBlobs else { return body }
        let value = try body.jsonValue().mapBlobs { object in
            guard let blob = Blob(object, store: store), try isWanted(blob) else { return object }
            var object = object
            object["data"] = .string(Base64.encode(try blob.content()))
            return object
        }
        return PackedValue(value)
    }
}

extension PackedValue {
    /// Whether there is a blob with its content in place.
    package var hasBlobData: Bool {
        guard mayHoldBlobs else { return false }
        var isFound = false
        forEachBlob { isFound = isFound || $0["data"] != nil }
        return isFound
    }
}

extension RevisionContent {
    /// Takes the content of blobs out of their objects, to be stored with the edit.
    ///
    /// An object that names no digest and length gets them.
    ///
    /// - Parameter id: The document's ID.
    /// - Throws: `.invalidDocument` where the content is no base64, or is not what the object declares.
    package mutating func takeBlobData(of id: DocumentID) throws {
        guard body.hasBlobData else { return }
        var blobs: [Blob] = []
        let value = try body.jsonValue().mapBlobs { object in
            guard let data = object["data"] else { return object }
            guard let bytes = data.string.flatMap({ Base64.decode($0) }) else {
                throw DatabaseError.blobData(id)
            }
            let blob = Blob(contentType: object["content_type"]?.string, bytes)
            var object = object
            object["data"] = nil
            for key in ["digest", "length"] {
                let found = blob.properties[key]
                guard object[key] == nil || object[key] == found else {
                    throw DatabaseError.blobData(id)
                }
                object[key] = found
            }
            blobs.append(blob)
            return object
        }
        body = PackedValue(value)
        var pending = pending ?? PendingAttachments()
        pending.add(blobs)
        self.pending = pending
    }
}

extension JSONValue {
    /// The value with the object of each blob, at any depth, as `change` gives it.
    fileprivate func mapBlobs(_ change: (JSONObject) throws -> JSONObject) rethrows -> JSONValue {
        switch self {
        case .array(let elements): return .array(try elements.map { try $0.mapBlobs(change) })
        case .object(var object):
            for (key, value) in object { object[key] = try value.mapBlobs(change) }
            let isBlob = Blob.typeName.hasSameBytes(as: object["@type"]?.string)
            return .object(isBlob ? try change(object) : object)
        default: return self
        }
    }
}
