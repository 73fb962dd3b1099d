// SPDX-License-Identifier: Apache-2.0

extension PackedReader {
    /// Finds a property of an object.
    @inline(__always)
    func property(_ key: UnsafeBufferPointer<UInt8>, of object: PackedNode) -> PackedNode? {
        guard object.isObject else { return nil }
        var offset = object.start
        var left = object.count
        if left > PackedTag.stride {
            let block = unsafe block(of: key, in: object)
            guard let start = blockStart(block, of: object) else { return nil }
            offset = start
            left = min(PackedTag.stride, left - block * PackedTag.stride)
        }
        let found = unsafe value(of: key, among: left, at: offset, limit: object.end)
        return found < 0 ? nil : node(at: found, limit: object.end)
    }

    /// Where the value of a property of the object at an offset begins; -1 when there is none.
    func value(of key: UnsafeBufferPointer<UInt8>, inObjectAt offset: Int) -> Int {
        guard offset < count else { return -1 }
        let tag = byte(at: offset)
        let low = tag & 0x0F
        if tag & 0xE0 == PackedTag.object, low != 0, low != PackedTag.explicitCount {
            // The usual object: nothing of it but its content is looked at.
            guard let content = smallContent(tag, at: offset, limit: count) else { return -1 }
            return unsafe value(
                of: key, among: Int(low), at: content.lowerBound, limit: content.upperBound)
        }
        guard let object = node(at: offset, limit: count) else { return -1 }
        return unsafe property(key, of: object)?.offset ?? -1
    }

    /// Where the value of a property begins, among so many that begin at an offset; -1 when there is
    /// none.
    @inline(__always)
    private func value(
        of key: UnsafeBufferPointer<UInt8>, among count: Int, at begin: Int, limit: Int
    ) -> Int {
        let length = key.count
        var offset = begin
        var left = count
        while left > 0, offset < limit {
            let tag = byte(at: offset)
            let isKey: Bool
            if tag <= UInt8(PackedTag.longestShortString) {
                // The usual key: its length alone tells most keys apart.
                let text = offset + 1
                offset = text + Int(tag)
                guard offset < limit else { return -1 }
                isKey = unsafe Int(tag) == length && isEqual(text, key)
            } else {
                guard let name = node(at: offset, limit: limit), name.isString else { return -1 }
                offset = name.end
                isKey = unsafe name.length == length && isEqual(name.start, key)
            }
            let end = end(ofValueAt: offset, limit: limit)
            if end < 0 { return -1 }
            if isKey { return offset }
            offset = end
            left -= 1
        }
        return -1
    }

    /// Where the value at an offset ends; -1 when there is none. As `node(at:limit:)`, without the
    /// rest of the node.
    @inline(__always)
    func end(ofValueAt offset: Int, limit: Int) -> Int {
        guard offset < limit else { return -1 }
        let tag = byte(at: offset)
        var end = offset + 1
        if tag < PackedTag.smallInteger {
            end += Int(tag)
        } else if tag & 0xF0 == PackedTag.positive {
            end += Int(tag & 7) + 1
        } else if tag >= PackedTag.double {
            // The commonest longer ones have one byte of length.
            let low = tag & (PackedTag.wideBit | 0x0F)
            let isSmall = tag > PackedTag.object && low != 0 && low < PackedTag.explicitCount
            guard end < limit, isSmall || tag == PackedTag.string8 else {
                return node(at: offset, limit: limit)?.end ?? -1
            }
            end += 1 + Int(byte(at: end)) + (isSmall ? 0 : PackedTag.string8Base)
        }
        return end <= limit ? end : -1
    }

    /// Whether a string's bytes are the same as others.
    @inline(__always)
    func isEqual(_ node: PackedNode, _ text: UnsafeBufferPointer<UInt8>) -> Bool {
        unsafe node.length == text.count && isEqual(node.start, text)
    }

    /// Whether the bytes at an offset, of which as many as the text's are inside, are the text's.
    @inline(__always)
    func isEqual(_ offset: Int, _ text: UnsafeBufferPointer<UInt8>) -> Bool {
        // SAFETY: both sides have `text.count` bytes.
        for index in 0..<text.count where unsafe byte(at: offset + index) != text[index] {
            return false
        }
        return true
    }

    /// The last block of sixteen properties whose first key is not after a key.
    private func block(of key: UnsafeBufferPointer<UInt8>, in object: PackedNode) -> Int {
        var low = 0
        var high = PackedTag.tableCount(object.count)
        while low < high {
            let middle = (low + high + 1) / 2
            // A corrupt entry sorts last: the search goes on among the others.
            guard let start = blockStart(middle, of: object),
                let name = node(at: start, limit: object.end), name.isString,
                unsafe compare(payload(name), key) <= 0
            else {
                high = middle - 1
                continue
            }
            low = middle
        }
        return low
    }

    /// Compares keys in the order of the packed form.
    func compare(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Int {
        let common = min(left.count, right.count)
        for index in 0..<common {
            // SAFETY: the index is below both lengths.
            let (a, b) = unsafe (left[index], right[index])
            if a != b { return KeyOrder.rank(a) < KeyOrder.rank(b) ? -1 : 1 }
        }
        return left.count - right.count
    }

    /// Finds an element of an array.
    func element(_ index: Int, of array: PackedNode) -> PackedNode? {
        guard array.isArray, index >= 0, index < array.count else { return nil }
        guard var offset = blockStart(index / PackedTag.stride, of: array) else { return nil }
        for _ in 0..<(index % PackedTag.stride) {
            guard let skipped = node(at: offset, limit: array.end) else { return nil }
            offset = skipped.end
        }
        return node(at: offset, limit: array.end)
    }
}
