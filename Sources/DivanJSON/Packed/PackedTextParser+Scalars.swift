// SPDX-License-Identifier: Apache-2.0

extension PackedTextParser {
    /// Packs a string whose opening quote has been read.
    ///
    /// Bytes are copied by eight while they are looked at. The first 63 go after a head of one
    /// byte; a longer string moves them up by one, for a head of two.
    @inline(__always)
    mutating func string(_ place: Place) -> Place {
        var source = place.position
        var target = place.out + 1
        let turn = source + PackedTag.longestShortString + 1
        // SAFETY: invariant 1 for the loads. Each store is at most eight bytes beyond what the text
        // read so far needs, for which invariant 2 has room.
        while source + 8 <= end, source < turn {
            let word = unsafe UInt64(
                littleEndian: UnsafeRawPointer(text + source).loadUnaligned(as: UInt64.self))
            unsafe UnsafeMutableRawPointer(output + target).storeBytes(
                of: word.littleEndian, as: UInt64.self)
            let stops = JSONScanner.stops(in: word)
            if stops == 0 {
                source += 8
                target += 8
                continue
            }
            source += stops.trailingZeroBitCount >> 3
            let length = source - place.position
            guard unsafe text[source] == 0x22, length <= PackedTag.longestShortString else { break }
            unsafe output[place.out] = UInt8(truncatingIfNeeded: length)
            return Place(position: source + 1, out: place.out + 1 + length)
        }
        return longString(place, from: source)
    }

    /// Packs a string that is long, has escapes or scalars beyond ASCII, or ends near the text's
    /// end.
    @inline(never)
    private mutating func longString(_ place: Place, from plain: Int) -> Place {
        // Find the end first. What lies before `plain` is known to be plain.
        var scanner = unsafe JSONScanner(UnsafeBufferPointer(start: text, count: end))
        scanner.position = plain
        guard var token = try? scanner.scanString() else { return .failed }
        token.range = place.position..<token.range.upperBound
        guard hasRoom(place) else { return .failed }
        guard token.hasEscapes else {
            let head = writeStringHead(length: token.range.count, at: place.out)
            // SAFETY: the text of the token fits (invariant 2) with the largest head (slack).
            unsafe scanner.copyBytes(token.range, to: output + place.out + head)
            return Place(
                position: scanner.position, out: place.out + head + token.range.count)
        }
        // SAFETY: unescaping never writes more than the token's text. It goes five bytes ahead,
        // where the largest head would end, and then moves down to the head that it needs.
        let length = unsafe scanner.unescape(token, to: output + place.out + 5)
        let head = writeStringHead(length: length, at: place.out)
        unsafe (output + place.out + head).update(from: output + place.out + 5, count: length)
        return Place(position: scanner.position, out: place.out + head + length)
    }

    /// Writes the head of a string and returns its length.
    private mutating func writeStringHead(length: Int, at out: Int) -> Int {
        // SAFETY: callers have room for the largest head.
        if length <= PackedTag.longestShortString {
            unsafe output[out] = UInt8(truncatingIfNeeded: length)
            return 1
        }
        if length < 256 + PackedTag.string8Base {
            unsafe output[out] = PackedTag.string8
            unsafe output[out + 1] = UInt8(truncatingIfNeeded: length - PackedTag.string8Base)
            return 2
        }
        let width = length <= 0xFFFF ? 2 : 4
        unsafe output[out] = width == 2 ? PackedTag.string16 : PackedTag.string32
        unsafe writeFixed(UInt64(length), width: width, at: output + out + 1)
        return 1 + width
    }

    /// Writes a little-endian number of up to eight bytes.
    @inline(__always)
    mutating func writeFixed(_ value: UInt64, width: Int, at target: UnsafeMutablePointer<UInt8>) {
        // SAFETY: callers have room for `width` bytes at the target.
        for index in 0..<width {
            unsafe target[index] = UInt8(truncatingIfNeeded: value >> UInt64(8 * index))
        }
    }

    /// Packs a number: small integers here, others by the scanner.
    @inline(__always)
    mutating func number(_ place: Place) -> Place {
        var position = place.position
        var magnitude: UInt64 = 0
        // SAFETY: invariant 1.
        while position < end {
            let digit = unsafe text[position] &- 0x30
            guard digit < 10 else { break }
            magnitude = magnitude &* 10 &+ UInt64(digit)
            position += 1
        }
        let length = position - place.position
        // Eighteen digits fit. A zero at the start of more, a point and so on are the scanner's.
        guard length > 0, length <= 18, position < end,
            unsafe text[position] == 0x2C || text[position] == 0x7D || text[position] == 0x5D,
            unsafe length == 1 || text[place.position] != 0x30
        else { return rareNumber(place) }
        let out = writeInteger(magnitude, tag: PackedTag.positive, at: place.out)
        return Place(position: position, out: out)
    }

    /// Writes an integer and returns where it ends. It never takes more bytes than digits.
    @inline(__always)
    private mutating func writeInteger(_ magnitude: UInt64, tag: UInt8, at out: Int) -> Int {
        // SAFETY: invariant 2: at most nine bytes, and the word beyond them, fit into the slack.
        if tag == PackedTag.positive, magnitude <= PackedTag.largestSmallInteger {
            unsafe output[out] = PackedTag.smallInteger | UInt8(truncatingIfNeeded: magnitude)
            return out + 1
        }
        let length = PackedTag.byteCount(magnitude)
        unsafe output[out] = tag &+ UInt8(truncatingIfNeeded: length - 1)
        unsafe UnsafeMutableRawPointer(output + out + 1).storeBytes(
            of: magnitude.littleEndian, as: UInt64.self)
        return out + 1 + length
    }

    @inline(never)
    private mutating func rareNumber(_ place: Place) -> Place {
        guard hasRoom(place) else { return .failed }
        var scanner = unsafe JSONScanner(UnsafeBufferPointer(start: text, count: end))
        scanner.position = place.position
        guard let token = try? scanner.scanNumber() else { return .failed }
        var out = place.out
        switch token {
        case .integer(let value):
            out =
                value < 0
                ? writeInteger(UInt64(~value), tag: PackedTag.negative, at: out)
                : writeInteger(UInt64(value), tag: PackedTag.positive, at: out)
        case .unsigned(let value): out = writeInteger(value, tag: PackedTag.positive, at: out)
        case .decimal(let value): out = write(value, at: out)
        case .double(let value):
            if let decimal = CompactDecimal(value) {
                out = write(decimal, at: out)
            } else {
                // SAFETY: nine bytes are within the slack.
                unsafe output[out] = PackedTag.double
                unsafe UnsafeMutableRawPointer(output + out + 1).storeBytes(
                    of: value.bitPattern.littleEndian, as: UInt64.self)
                out += 9
            }
        case .digits(let range):
            let width = range.count < 256 ? 1 : 4
            // SAFETY: the digits fit as their text did, and the head fits into the slack.
            unsafe output[out] = width == 1 ? PackedTag.number8 : PackedTag.number32
            unsafe writeFixed(UInt64(range.count), width: width, at: output + out + 1)
            unsafe scanner.copyBytes(range, to: output + out + 1 + width)
            out += 1 + width + range.count
        }
        let after = Place(position: scanner.position, out: out)
        return hasRoom(after) ? after : .failed
    }

    private mutating func write(_ decimal: CompactDecimal, at out: Int) -> Int {
        let length = PackedTag.byteCount(decimal.mantissa)
        // SAFETY: ten bytes at most, within the slack.
        unsafe output[out] = PackedTag.decimal + UInt8(truncatingIfNeeded: length - 1)
        unsafe output[out + 1] = decimal.packedExponent
        unsafe UnsafeMutableRawPointer(output + out + 2).storeBytes(
            of: decimal.mantissa.littleEndian, as: UInt64.self)
        return out + 2 + length
    }
}
