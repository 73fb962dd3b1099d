// SPDX-License-Identifier: Apache-2.0

/// Follows the brackets and strings of JSON text, one structural byte at a time.
///
/// A line feed ends a string, as it cannot stand in one: a lost quotation mark then spoils the
/// record that it is in, not all the rest of the input.
struct StructureScanner {
    enum Token: Equatable {
        case open(UInt8)
        case close(UInt8)
        case comma
        case colon
        case stringStart
        case stringEnd
        case lineFeed
    }

    private(set) var depth = 0
    private(set) var line = 1
    private(set) var isInString = false
    private var isEscaped = false

    /// Returns the next structural byte's token and index, or `nil` at the end of the chunk.
    ///
    /// When a token is returned, `index` is just past it.
    mutating func next(in chunk: Span<UInt8>, from index: inout Int) -> Token? {
        while index < chunk.count {
            if isInString {
                if let token = scanString(chunk, &index) { return token }
            } else {
                let byte = chunk[index]
                index += 1
                if let token = token(for: byte) { return token }
            }
        }
        return nil
    }

    /// Passes over space, counting lines; false if the chunk ends in it.
    mutating func skipSpace(in chunk: Span<UInt8>, from index: inout Int) -> Bool {
        while index < chunk.count {
            let byte = chunk[index]
            guard JSONByte.isSpace(byte) else { return true }
            if byte == JSONByte.lineFeed { line += 1 }
            index += 1
        }
        return false
    }

    /// Takes back the last closing bracket: it closed what must stay open.
    mutating func reopen() {
        depth += 1
    }

    private mutating func scanString(_ chunk: Span<UInt8>, _ index: inout Int) -> Token? {
        if isEscaped {
            isEscaped = false
            // An escaped line feed is still the end of a line.
            if chunk[index] != JSONByte.lineFeed { index += 1 }
        }
        while index < chunk.count {
            let byte = chunk[index]
            index += 1
            if byte == JSONByte.quote {
                isInString = false
                return .stringEnd
            }
            if byte == JSONByte.backslash {
                isEscaped = true
                return nil
            }
            if byte == JSONByte.lineFeed {
                isInString = false
                line += 1
                return .lineFeed
            }
        }
        return nil
    }

    private mutating func token(for byte: UInt8) -> Token? {
        switch byte {
        case JSONByte.quote:
            isInString = true
            return .stringStart
        case JSONByte.openBrace, JSONByte.openBracket:
            depth += 1
            return .open(byte)
        case JSONByte.closeBrace, JSONByte.closeBracket:
            depth -= 1
            return .close(byte)
        case JSONByte.comma: return .comma
        case JSONByte.colon: return .colon
        case JSONByte.lineFeed:
            line += 1
            return .lineFeed
        default: return nil
        }
    }
}
