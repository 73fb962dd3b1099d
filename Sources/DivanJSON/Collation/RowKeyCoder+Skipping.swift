// SPDX-License-Identifier: Apache-2.0

extension RowKeyCoder {
    /// Moves past one value without making it, for a caller that needs what follows it.
    ///
    /// - Parameters:
    ///   - key: Bytes with an encoding in them.
    ///   - offset: Where the encoding begins; afterwards, the byte after it; on a failure, any.
    /// - Throws: `Failure` if no encoding begins there. Texts and numbers are not checked.
    public func skip(_ key: Span<UInt8>, at offset: inout Int) throws(Failure) {
        // Lists that are open: each ends with a zero where the next value would begin.
        var depth = 0
        repeat {
            let byte = try RowKeyCoder.take(key, at: &offset, "a value")
            if byte == RowKeyCoder.end, depth > 0 {
                depth -= 1
                continue
            }
            switch type(ofTag: byte) {
            case .null, .false, .true: break
            case .number: try skipNumber(key, at: &offset)
            case .string: try skipText(key, at: &offset)
            // An object is a list of strings and values by turns.
            case .array, .object: depth += 1
            case nil: throw Failure(offset: offset - 1, expectation: "the tag of a value")
            }
        } while depth > 0
    }

    private func skipText(_ key: Span<UInt8>, at offset: inout Int) throws(Failure) {
        if collation == .unicode {
            guard try skipSortKey(key, at: &offset) else { return }
        }
        try RowKeyCoder.skipToEnd(key, at: &offset)
    }

    private func skipNumber(_ key: Span<UInt8>, at offset: inout Int) throws(Failure) {
        offset += 8
        let mark = try RowKeyCoder.take(key, at: &offset, "what follows the bits of a number")
        guard mark != RowKeyCoder.exactly else { return }
        let mask: UInt8 = mark == RowKeyCoder.beyondNegative ? 0xFF : 0
        offset += 8
        while try RowKeyCoder.take(key, at: &offset, "the end of the digits") ^ mask
            != RowKeyCoder.end
        {}
    }

    private static func skipToEnd(_ key: Span<UInt8>, at offset: inout Int) throws(Failure) {
        offset = key.firstZero(from: offset)
        _ = try take(key, at: &offset, "the end of a text")
    }
}
