// SPDX-License-Identifier: Apache-2.0

package import DivanJSON
internal import DivanModel
internal import DivanStorage

/// What one document emits into one index, ready to be stored.
///
/// It is made on the thread that maps the document and handed to the writer: keys in their row form,
/// values packed, all in one array of bytes.
///
/// In the store `emissions`, under the document's ID, are the keys only, each as a varint of its length
/// and its bytes. From them the document's rows can be found when it changes, without mapping its
/// former revision again. A document without rows has none.
package struct Emissions: Sendable {
    private struct Entry {
        var keyEnd: Int
        var valueEnd: Int
    }

    private var bytes: [UInt8] = []
    private var entries: [Entry] = []

    /// Makes an empty collection.
    package init() {}

    /// How many rows were emitted.
    package var count: Int { entries.count }

    /// Adds a row.
    ///
    /// - Parameters:
    ///   - value: The value; nil for none, which takes no space.
    ///   - key: Appends the key in its row form.
    package mutating func append(_ value: PackedValue?, key: (inout [UInt8]) throws -> Void)
        rethrows
    {
        let start = bytes.count
        do { try key(&bytes) } catch {
            bytes.removeLast(bytes.count - start)
            throw error
        }
        let keyEnd = bytes.count
        if let value, !value.isNull { bytes.append(contentsOf: value.bytes) }
        entries.append(Entry(keyEnd: keyEnd, valueEnd: bytes.count))
    }

    /// The key of a row.
    func key(_ index: Int) -> ArraySlice<UInt8> {
        bytes[(index == 0 ? 0 : entries[index - 1].valueEnd)..<entries[index].keyEnd]
    }

    /// The value of a row.
    func value(_ index: Int) -> ArraySlice<UInt8> {
        bytes[entries[index].keyEnd..<entries[index].valueEnd]
    }

    /// The bytes of all keys and values, for bounding how much is kept in memory.
    package var size: Int { bytes.count }

    /// The value for the store `emissions`.
    func keyList() -> [UInt8] {
        var list: [UInt8] = []
        for index in entries.indices {
            let key = key(index)
            Varint.append(UInt64(key.count), to: &list)
            list.append(contentsOf: key)
        }
        return list
    }

    /// The row keys, numbering equal keys.
    func rowKeys(of id: DocumentID) -> [[UInt8]] {
        Self.rowKeys(entries.indices.map { key($0) }, of: id)
    }

    /// Reads a value of the store `emissions` and returns the row keys of its document.
    static func rowKeys(fromKeyList list: Span<UInt8>, of id: DocumentID) throws -> [[UInt8]] {
        var keys: [ArraySlice<UInt8>] = []
        var offset = 0
        while offset < list.count {
            let length = try Varint.decode(list, at: &offset)
            guard length <= UInt64(list.count - offset) else {
                throw IndexCorruption("A list of emitted keys ends early.")
            }
            let end = offset + Int(length)
            keys.append([UInt8](copying: list.extracting(offset..<end))[...])
            offset = end
        }
        return rowKeys(keys, of: id)
    }

    private static func rowKeys(_ keys: [ArraySlice<UInt8>], of id: DocumentID) -> [[UInt8]] {
        var seen: [ArraySlice<UInt8>: Int] = [:]
        return keys.map { key in
            var ordinal = 0
            if keys.count > 1 {
                ordinal = seen[key, default: 0]
                seen[key] = ordinal + 1
            }
            var rowKey: [UInt8] = []
            rowKey.reserveCapacity(key.count + id.text.utf8.count + 1)
            rowKey.append(contentsOf: key)
            RowKey.append(id, ordinal: ordinal, to: &rowKey)
            return rowKey
        }
    }
}
