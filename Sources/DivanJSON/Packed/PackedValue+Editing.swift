// SPDX-License-Identifier: Apache-2.0

extension PackedValue {
    /// The object with some properties set or removed; all others are copied as they are packed.
    ///
    /// ```swift
    /// let older = person.replacing(["age": 31, "nickname": JSONValue?.none])   // none removes
    /// ```
    ///
    /// It is what an edit of one property costs: the object's bytes are copied once, and nothing is
    /// decoded but the keys passed over. For a value that is no object the result has just the
    /// properties that are set.
    ///
    /// - Parameter changes: The new value of each property; `Optional.none` for one to remove, which
    ///   may be missing. (A literal `nil` is JSON's null.)
    /// - Returns: The edited object, as a root of its own.
    /// - Precondition: As for ``init(_:)``, of every value.
    public func replacing(_ changes: NameMap<JSONValue?>) -> PackedValue {
        let sorted = changes.sortedByName
        let edited = withReader { (reader, node) -> PackedValue? in
            var editor = PackedObjectEditor()
            if let node, node.isObject, !editor.merge(reader, node, with: sorted) { return nil }
            if node?.isObject != true { editor.appendAll(sorted[...]) }
            return PackedValue(bytes: editor.finish())
        }
        return edited ?? rebuilt(changes)
    }

    /// The same by way of values, for bytes that are corrupt.
    private func rebuilt(_ changes: NameMap<JSONValue?>) -> PackedValue {
        var object: JSONObject = [:]
        if case .object(let properties) = jsonValue() { object = properties }
        for (key, value) in changes { object[key] = value }
        return PackedValue(.object(object))
    }
}

/// Writes a packed object as a root, entry by entry in the order of keys.
private struct PackedObjectEditor: ~Copyable {
    private var content: [UInt8] = []
    private var encoder = PackedEncoder()
    private var count = 0
    /// Where every sixteenth entry after the first begins in the content.
    private var marks: [Int] = []

    /// Writes the entries of an object, with the changes in their places.
    ///
    /// - Returns: `false` when the object is corrupt.
    mutating func merge(
        _ reader: PackedReader, _ object: PackedNode,
        with changes: [(key: String, value: JSONValue?)]
    ) -> Bool {
        content.reserveCapacity(object.length + 64 * changes.count)
        var next = changes.startIndex
        var offset = object.start
        for _ in 0..<object.count {
            guard let name = reader.node(at: offset, limit: object.end), name.isString else {
                return false
            }
            let end = reader.end(ofValueAt: name.end, limit: object.end)
            guard end > name.end else { return false }
            var isReplaced = false
            while next < changes.endIndex {
                let order = compare(reader, name, changes[next].key)
                if order < 0 { break }
                isReplaced = order == 0
                append(changes[next])
                next += 1
                if isReplaced { break }
            }
            if !isReplaced { append(reader, offset..<end) }
            offset = end
        }
        appendAll(changes[next...])
        return offset == object.end
    }

    mutating func appendAll(_ changes: ArraySlice<(key: String, value: JSONValue?)>) {
        for change in changes { append(change) }
    }

    /// The finished root.
    func finish() -> [UInt8] {
        precondition(content.count < Int32.max, "A packed value holds less than 2 GiB.")
        let head = PackedContainerHead(
            base: PackedTag.object, count: count, content: content.count)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(1 + head.length + head.size)
        bytes.append(PackedTag.version)
        bytes.append(head.tag)
        if head.hasCount { append(count, head.width, to: &bytes) }
        append(head.size, head.width, to: &bytes)
        for mark in marks { append(mark, head.width, to: &bytes) }
        bytes.append(contentsOf: content)
        return bytes
    }

    private mutating func append(_ change: (key: String, value: JSONValue?)) {
        guard let value = change.value else { return }
        beginEntry()
        encoder.append(change.key, value, to: &content)
    }

    private mutating func append(_ reader: PackedReader, _ entry: Range<Int>) {
        beginEntry()
        // SAFETY: `merge` has checked that the entry lies inside the object.
        unsafe content.append(contentsOf: reader.bytes(entry))
    }

    private mutating func beginEntry() {
        if count > 0, count % PackedTag.stride == 0 { marks.append(content.count) }
        count += 1
    }

    private func append(_ number: Int, _ width: Int, to bytes: inout [UInt8]) {
        for index in 0..<width { bytes.append(UInt8(truncatingIfNeeded: number >> (8 * index))) }
    }

    private func compare(_ reader: PackedReader, _ name: PackedNode, _ key: String) -> Int {
        var key = key
        // SAFETY: both buffers are read inside the closure only.
        return key.withUTF8 { text in unsafe reader.compare(reader.payload(name), text) }
    }
}
