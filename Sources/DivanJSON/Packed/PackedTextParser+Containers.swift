// SPDX-License-Identifier: Apache-2.0

extension PackedTextParser {
    /// The head of a small container, which is left open before its content.
    private static var openHead: Int { 2 }

    /// Packs an array; the position is at its bracket.
    mutating func array(_ start: Place, depth: Int) -> Place {
        guard hasRoom(start) else { return .failed }
        let content = start.out + Self.openHead
        let firstMark = entryCount
        var place = Place(position: skipWhitespace(start.position + 1), out: content)
        // SAFETY: invariants 1 and 2.
        guard place.position < end else { return .failed }
        if unsafe text[place.position] == 0x5D {
            unsafe output[start.out] = PackedTag.array
            return Place(position: place.position + 1, out: start.out + 1)
        }
        var count = 0
        while true {
            if count & (PackedTag.stride - 1) == 0, count > 0 {
                push(PackedEntry(prefix: 0, start: place.out - content, length: 0))
            }
            place = value(place, depth: depth)
            if place.isFailed { return .failed }
            count += 1
            place.position = skipWhitespace(place.position)
            guard place.position < end else { return .failed }
            let mark = unsafe text[place.position]
            if mark == 0x5D { break }
            guard mark == 0x2C else { return .failed }
            place.position = skipWhitespace(place.position + 1)
        }
        let out = close(array: start.out, count: count, contentEnd: place.out, marks: firstMark)
        entryCount = firstMark
        if out < 0 { return .failed }
        let after = Place(position: place.position + 1, out: out)
        return hasRoom(after) ? after : .failed
    }

    /// Writes the head and table of an array before its content, which moves up when they are long.
    @inline(__always)
    private mutating func close(array start: Int, count: Int, contentEnd: Int, marks: Int) -> Int {
        let content = start + Self.openHead
        let head = PackedContainerHead(
            base: PackedTag.array, count: count, content: contentEnd - content)
        let table = PackedTag.tableCount(count) * head.width
        let shift = head.length + table - Self.openHead
        // SAFETY: there is room for the content in its new place.
        guard contentEnd + shift + Self.slack <= capacity else { return -1 }
        if shift > 0 {
            guard mayMove(contentEnd - content) else { return -1 }
            unsafe (output + content + shift).update(
                from: output + content, count: contentEnd - content)
        }
        unsafe write(head, count: count, to: output + start)
        var target = start + head.length
        for index in marks..<entryCount {
            unsafe writeFixed(UInt64(entries[index].start), width: head.width, at: output + target)
            target += head.width
        }
        return contentEnd + shift
    }

    /// Packs an object; the position is at its brace.
    mutating func object(_ start: Place, depth: Int) -> Place {
        guard hasRoom(start) else { return .failed }
        let first = entryCount
        var place = Place(
            position: skipWhitespace(start.position + 1), out: start.out + Self.openHead)
        // SAFETY: invariants 1 and 2.
        guard place.position < end else { return .failed }
        if unsafe text[place.position] == 0x7D {
            unsafe output[start.out] = PackedTag.object
            return Place(position: place.position + 1, out: start.out + 1)
        }
        var isSorted = true
        var last: UInt64 = 0
        while true {
            guard place.position < end, unsafe text[place.position] == 0x22 else { return .failed }
            let key = place.out
            place = string(Place(position: place.position + 1, out: key))
            if place.isFailed { return .failed }
            let prefix = keyPrefix(at: key, end: place.out)
            // Equal prefixes may be the same key: sorting finds out.
            isSorted = isSorted && (prefix > last || entryCount == first)
            last = prefix
            place.position = skipWhitespace(place.position)
            guard place.position < end, unsafe text[place.position] == 0x3A else { return .failed }
            place.position = skipWhitespace(place.position + 1)
            place = value(place, depth: depth)
            if place.isFailed { return .failed }
            push(PackedEntry(prefix: prefix, start: key, length: place.out - key))
            place.position = skipWhitespace(place.position)
            guard place.position < end else { return .failed }
            let mark = unsafe text[place.position]
            if mark == 0x7D { break }
            guard mark == 0x2C else { return .failed }
            place.position = skipWhitespace(place.position + 1)
        }
        let out = close(object: start.out, contentEnd: place.out, first: first, isSorted: isSorted)
        entryCount = first
        if out < 0 { return .failed }
        let after = Place(position: place.position + 1, out: out)
        return hasRoom(after) ? after : .failed
    }

    /// Sorts an object's properties, and writes its head and their bytes in this order.
    @inline(__always)
    private mutating func close(
        object start: Int, contentEnd: Int, first: Int, isSorted: Bool
    ) -> Int {
        var content = contentEnd - start - Self.openHead
        if !isSorted { content -= sortEntries(from: first) }
        let count = entryCount - first
        let head = PackedContainerHead(base: PackedTag.object, count: count, content: content)
        if start == 1 {
            pendingRoot = head
            pendingCount = count
            return contentEnd
        }
        if isSorted, head.length == Self.openHead {
            // SAFETY: room for the head was left open; a count of up to 14 has no table.
            unsafe write(head, count: count, to: output + start)
            return contentEnd
        }
        let length = head.length + head.size
        guard start + length + Self.slack <= capacity, mayMove(2 * length) else { return -1 }
        // SAFETY: there is room in the spare, and then in the output, which both have this
        // capacity.
        unsafe gather(head, entriesFrom: first, count: count, to: spare)
        unsafe copy(from: spare, count: length, to: output + start)
        return start + length
    }

    @inline(__always)
    private mutating func push(_ entry: PackedEntry) {
        if entryCount == entryCapacity { growEntries() }
        // SAFETY: there is room for one more entry.
        unsafe entries[entryCount] = entry
        entryCount += 1
    }
}
