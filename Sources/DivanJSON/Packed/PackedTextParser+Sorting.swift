// SPDX-License-Identifier: Apache-2.0

extension PackedTextParser {
    /// The sorting prefix of a key that has been packed.
    @inline(__always)
    mutating func keyPrefix(at key: Int, end: Int) -> UInt64 {
        // SAFETY: the load may reach beyond the key into the slack (invariant 2); what it finds
        // there is shifted out.
        var start = key + 1
        if unsafe output[key] > UInt8(PackedTag.longestShortString) {
            start = textStart(ofKeyAt: key)
        }
        let length = end - start
        if length == 0 { return 0 }
        var word = unsafe UInt64(
            bigEndian: UnsafeRawPointer(output + start).loadUnaligned(as: UInt64.self))
        if length < 8 {
            let unused = UInt64(truncatingIfNeeded: 64 - 8 * length)
            word = (word >> unused) << unused
        }
        return word & 0x8080_8080_8080_8080 == 0 ? word : rankedPrefix(word)
    }

    @inline(never)
    private mutating func rankedPrefix(_ word: UInt64) -> UInt64 {
        var result: UInt64 = 0
        for shift: UInt64 in stride(from: 56, through: 0, by: -8) {
            let byte = UInt8(truncatingIfNeeded: word >> shift)
            result |= UInt64(KeyOrder.rank(byte)) << shift
        }
        return result
    }

    private mutating func textStart(ofKeyAt key: Int) -> Int {
        // SAFETY: a packed key stands here.
        switch unsafe output[key] {
        case PackedTag.string8: key + 2
        case PackedTag.string16: key + 3
        case PackedTag.string32: key + 5
        default: key + 1
        }
    }

    /// Compares two keys that have the same prefix.
    @inline(never)
    private mutating func compareKeys(_ left: PackedEntry, _ right: PackedEntry) -> Int {
        // SAFETY: packed keys stand at both places.
        let reader = unsafe PackedReader(UnsafeBufferPointer(start: output, count: capacity))
        guard let a = reader.node(at: left.start, limit: left.start + left.length),
            let b = reader.node(at: right.start, limit: right.start + right.length)
        else { return 0 }
        return unsafe reader.compare(reader.payload(a), reader.payload(b))
    }

    /// Whether one property goes before another: by key, and of equal keys in the text's order.
    @inline(__always)
    private mutating func isBefore(_ left: PackedEntry, _ right: PackedEntry) -> Bool {
        if left.prefix != right.prefix { return left.prefix < right.prefix }
        let order = compareKeys(left, right)
        return order != 0 ? order < 0 : left.start < right.start
    }

    /// Sorts the entries of the innermost object, and removes all but the last of equal keys.
    ///
    /// - Returns: How many packed bytes the removed ones had.
    mutating func sortEntries(from first: Int) -> Int {
        let count = entryCount - first
        // SAFETY: the entries from `first` on are initialised (invariant 3).
        var own = unsafe UnsafeMutableBufferPointer(start: entries + first, count: count)
        if count <= 32 {
            unsafe insertionSort(own)
        } else {
            unsafe own.sort { isBefore($0, $1) }
        }
        return unsafe removeDuplicates(own)
    }

    @inline(__always)
    private mutating func insertionSort(_ own: UnsafeMutableBufferPointer<PackedEntry>) {
        guard let base = own.baseAddress else { return }
        var index = 1
        // SAFETY: all indices are between 0 and the buffer's count.
        while index < own.count {
            let entry = unsafe base[index]
            var hole = index
            while hole > 0, unsafe isBefore(entry, base[hole - 1]) {
                unsafe base[hole] = base[hole - 1]
                hole -= 1
            }
            unsafe base[hole] = entry
            index += 1
        }
    }

    private mutating func removeDuplicates(_ own: UnsafeMutableBufferPointer<PackedEntry>) -> Int {
        guard let base = own.baseAddress else { return 0 }
        var kept = 0
        var removed = 0
        // SAFETY: all indices are between 0 and the buffer's count.
        for index in 1..<max(own.count, 1) {
            let isSame =
                unsafe base[kept].prefix == base[index].prefix
                && compareKeys(base[kept], base[index]) == 0
            if isSame { removed += unsafe base[kept].length } else { kept += 1 }
            if kept != index { unsafe base[kept] = base[index] }
        }
        entryCount -= own.count - kept - 1
        return removed
    }

    /// Writes a container's head.
    @inline(__always)
    mutating func write(
        _ head: PackedContainerHead, count: Int, to target: UnsafeMutablePointer<UInt8>
    ) {
        // SAFETY: callers have room for the head.
        unsafe target[0] = head.tag
        if head.width == 1, !head.hasCount {
            unsafe target[1] = UInt8(truncatingIfNeeded: head.size)
            return
        }
        var place = 1
        if head.hasCount {
            unsafe writeFixed(UInt64(count), width: head.width, at: target + place)
            place += head.width
        }
        unsafe writeFixed(UInt64(head.size), width: head.width, at: target + place)
    }

    /// Writes a whole object with its properties in the order of their entries.
    mutating func gather(
        _ head: PackedContainerHead, entriesFrom first: Int, count: Int,
        to target: UnsafeMutablePointer<UInt8>
    ) {
        // SAFETY: the target has room for `head.length + head.size` bytes and the slack; the
        // entries' bytes lie in the output, with the slack after them.
        unsafe write(head, count: count, to: target)
        var table = head.length
        let content = head.length + PackedTag.tableCount(count) * head.width
        var place = content
        for index in 0..<count {
            let entry = unsafe entries[first + index]
            if index & (PackedTag.stride - 1) == 0, index > 0 {
                unsafe writeFixed(UInt64(place - content), width: head.width, at: target + table)
                table += head.width
            }
            unsafe copy(from: output + entry.start, count: entry.length, to: target + place)
            place += entry.length
        }
    }

    /// Copies bytes between regions that do not overlap; up to 31 more may be read and written.
    @inline(__always)
    mutating func copy(
        from source: UnsafePointer<UInt8>, count: Int, to target: UnsafeMutablePointer<UInt8>
    ) {
        // SAFETY: both regions have the slack after them.
        if count > 128 {
            unsafe target.update(from: source, count: count)
            return
        }
        var index = 0
        while index < count {
            let chunk = unsafe UnsafeRawPointer(source + index).loadUnaligned(
                as: SIMD32<UInt8>.self)
            unsafe UnsafeMutableRawPointer(target + index).storeBytes(
                of: chunk, as: SIMD32<UInt8>.self)
            index += 32
        }
    }
}
