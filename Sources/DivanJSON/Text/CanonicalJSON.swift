// SPDX-License-Identifier: Apache-2.0

/// The one text of a JSON value that revision digests are taken over.
///
/// It is Couchbase Lite 1.4's form (Java), so that the same edit makes the same revision ID there
/// and here:
/// - Keys are sorted by UTF-16 code unit at every level; there is no whitespace.
/// - `"` and `\` and control characters are escaped, with `\b \t \n \f \r` short and others
///   as `\u001F` in upper case. Scalars beyond the first plane are two such escapes. All
///   else stands as it is, `/` and U+007F and U+2028 too.
/// - Doubles are written as Java's `Double.toString` does: `1.0`, `0.001`, `1.0E7`, `1.0E-4`.
/// - Integers and big numbers are their digits, so 1 and 1.0 differ.
///
/// Of a document's body some properties are left out: see ``append(body:to:)``.
public enum CanonicalJSON {
    /// The reserved keys that a digest does not see: they say which revision it is, not what it
    /// holds.
    static let droppedKeys: [StaticString] = [
        "_id", "_rev", "_deleted", "_revisions", "_revs_info", "_conflicts", "_deleted_conflicts",
        "_local_seq",
    ]
    /// The reserved keys that belong to the content.
    static let keptKeys: [StaticString] = ["_attachments", "_removed"]

    /// Appends the canonical text of a document's body.
    ///
    /// At the top level `_id`, `_rev`, `_deleted`, `_revisions`, `_revs_info`, `_conflicts`,
    /// `_deleted_conflicts` and `_local_seq` are left out. A body that is no object counts as
    /// empty.
    public static func append(body: PackedValue, to bytes: inout [UInt8]) {
        var sink = ByteSink(capacity: body.storage.count * 5 / 4 + 64)
        body.withReader { reader, node in
            sink.append(0x7B)
            var isFirst = true
            if let node {
                reader.forEachProperty(of: node) { key, value in
                    if unsafe isDropped(reader.payload(key)) { return }
                    if !isFirst { sink.append(0x2C) }
                    isFirst = false
                    sink.append(string: key, of: reader, style: .canonical)
                    sink.append(0x3A)
                    sink.append(value, of: reader, form: .canonical, level: 1)
                }
            }
            sink.append(0x7D)
        }
        sink.move(to: &bytes)
    }

    /// Appends the canonical text of any value, with all its keys.
    public static func append(_ value: JSONValue, to bytes: inout [UInt8]) {
        var sink = ByteSink(capacity: 256)
        sink.append(value, form: .canonical, level: 0)
        sink.move(to: &bytes)
    }

    /// The first top-level key that begins with `_` and means nothing to Divan; `nil` if all do.
    ///
    /// Known are the keys that ``append(body:to:)`` leaves out, `_attachments` and `_removed`.
    public static func unknownReservedKey(in body: PackedValue) -> String? {
        body.withReader { reader, node in
            guard let node else { return nil }
            var unknown: String?
            reader.forEachProperty(of: node) { key, _ in
                guard unknown == nil, key.length > 0, reader.byte(at: key.start) == 0x5F else {
                    return
                }
                let name = unsafe reader.payload(key)
                if unsafe !isDropped(name), unsafe !isOne(of: keptKeys, name) {
                    unknown = reader.string(key)
                }
            }
            return unknown
        }
    }

    @inline(__always)
    private static func isDropped(_ key: UnsafeBufferPointer<UInt8>) -> Bool {
        // SAFETY: the first byte is read of keys that have one.
        guard key.count > 0, unsafe key[0] == 0x5F else { return false }
        return unsafe isOne(of: droppedKeys, key)
    }

    private static func isOne(of names: [StaticString], _ key: UnsafeBufferPointer<UInt8>) -> Bool {
        names.contains { name in
            // SAFETY: a static string has `utf8CodeUnitCount` bytes at its start.
            let bytes = unsafe UnsafeBufferPointer(
                start: name.utf8Start, count: name.utf8CodeUnitCount)
            return unsafe bytes.elementsEqual(key)
        }
    }
}
