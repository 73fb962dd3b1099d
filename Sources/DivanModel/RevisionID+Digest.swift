// SPDX-License-Identifier: Apache-2.0

public import DivanJSON

extension RevisionID {
    /// Returns the ID of the revision that an edit makes.
    ///
    /// ```swift
    /// var scratch: [UInt8] = []
    /// let body = try PackedValue(parsing: #"{"a":1}"#)
    /// let id = RevisionID.of(
    ///     parent: nil, isDeleted: false, body: body, digest: OpenSSLDigest.shared,
    ///     scratch: &scratch)
    /// // 1-73e739f17d43286245f535443683a01a
    /// ```
    ///
    /// The ID is a function of the edit alone, and the same as Couchbase Lite 1.4 makes: the digest
    /// is the MD5 of
    ///
    /// | bytes | content |
    /// |--:|---|
    /// | 1 | length of the parent's ID; 0 without a parent |
    /// | … | the parent's ID as text |
    /// | 1 | 1 if the revision is a tombstone, else 0 |
    /// | … | the canonical JSON of the body; `{}` without a body |
    ///
    /// Attachments take part by their stubs, which stand in the body. The generation is the
    /// parent's plus one and stays at ``maximumGeneration`` once there; ``RevisionTree`` refuses
    /// such a child. A parent's ID of more than 255 bytes, which 1.4 refuses to edit, counts with
    /// its length modulo 256.
    ///
    /// - Parameters:
    ///   - parent: The revision that was edited; `nil` for a new document.
    ///   - isDeleted: Whether the edit deletes the document.
    ///   - body: The new body, an object; `nil` is the same as an empty one.
    ///   - digest: The implementation of MD5.
    ///   - scratch: Memory to work in. Its content is replaced; passing the same array again and
    ///     again saves the allocation.
    /// - Returns: The new revision's ID.
    public static func of(
        parent: RevisionID?, isDeleted: Bool, body: PackedValue?, digest: any MessageDigest,
        scratch: inout [UInt8]
    ) -> RevisionID {
        scratch.removeAll(keepingCapacity: true)

        // The parent's ID, after a byte for its length that is put right below.
        scratch.append(0)
        parent?.appendText(to: &scratch)
        scratch[0] = UInt8(truncatingIfNeeded: scratch.count - 1)

        scratch.append(isDeleted ? 1 : 0)
        if let body {
            CanonicalJSON.append(body: body, to: &scratch)
        } else {
            scratch.append(contentsOf: "{}".utf8)
        }
        let generation = min((parent?.generation ?? 0) + 1, maximumGeneration)
        return RevisionID(generation: generation, md5: digest.md5(of: scratch.span))
    }
}
