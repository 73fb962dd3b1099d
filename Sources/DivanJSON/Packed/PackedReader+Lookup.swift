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
        let length = key.count
        while left > 0, offset < object.end {
            let tag = byte(at: offset)
            if tag <= UInt8(PackedTag.longestShortString) {
                // The usual key: its length alone tells most keys apart.
                let text = offset + 1
                offset = text + Int(tag)
                guard offset < object.end else { return nil }
                if Int(tag) == length, unsafe isEqual(text, key) {
                    return node(at: offset, limit: object.end)
                }
            } else {
                guard let name = node(at: offset, limit: object.end), name.isString else {
                    return nil
                }
                offset = name.end
                if name.length == length, unsafe isEqual(name.start, key) {
                    return node(at: offset, limit: object.end)
                }
            }
            offset = end(ofValueAt: offset, limit: object.end)
            if offset < 0 { return nil }
            left -= 1
        }
        return nil
    }

    /// Where the value at an offset ends; -1 when there is none. As `node(at:limit:)`, without the
    /// rest of the node.
    @inline(__always)
    func end(ofValueAt offset: Int, limit: Int) -> Int {
        guard offset < limit else { return -1 }
        let tag = byte(at: offset)
        if tag < 0x40 { return offset + Int(tag) < limit ? offset + 1 + Int(tag) : -1 }
        if tag < PackedTag.double { return offset + 1 }
        // The commonest longer ones have one byte of length.
        if offset + 1 < limit {
            let length = Int(byte(at: offset + 1))
            if tag == PackedTag.string8 {
                let end = offset + 2 + PackedTag.string8Base + length
                return end <= limit ? end : -1
            }
            if tag > 0xC0, tag & PackedTag.wideBit == 0, tag & 0x0F != PackedTag.explicitCount,
                tag & 0x0F != 0
            {
                let end = offset + 2 + length
                return end <= limit ? end : -1
            }
        }
        return node(at: offset, limit: limit)?.end ?? -1
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
