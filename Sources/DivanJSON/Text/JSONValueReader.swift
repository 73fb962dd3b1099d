// SPDX-License-Identifier: Apache-2.0

/// The grammatical half of the parser, building ``JSONValue``s by recursive descent.
extension JSONScanner {
    /// Parses a whole text.
    static func parse(_ text: Span<UInt8>, depth: Int) throws(JSONParser.Failure) -> JSONValue {
        // SAFETY: the scanner lives inside the closure, while the span's bytes are borrowed.
        try unsafe text.withUnsafeBufferPointer { buffer throws(JSONParser.Failure) in
            var scanner = unsafe JSONScanner(buffer)
            let value = try scanner.parseValue(depth: depth)
            try scanner.finish()
            return value
        }
    }

    private mutating func parseValue(depth: Int) throws(JSONParser.Failure) -> JSONValue {
        skipWhitespace()
        guard let first = current else { throw failure("a value") }
        switch first {
        case 0x22:
            position += 1
            return .string(string(of: try scanString()))
        case 0x7B: return .object(try parseObject(depth: depth))
        case 0x5B: return .array(try parseArray(depth: depth))
        case 0x6E:
            try skipLiteral("null")
            return .null
        case 0x74:
            try skipLiteral("true")
            return .bool(true)
        case 0x66:
            try skipLiteral("false")
            return .bool(false)
        case 0x2D, 0x30...0x39: return try parseNumber()
        default: throw failure("a value")
        }
    }

    private mutating func parseNumber() throws(JSONParser.Failure) -> JSONValue {
        switch try scanNumber() {
        case .integer(let value): .integer(value)
        case .unsigned(let value): .unsigned(value)
        case .decimal(let value): .double(value.double)
        case .double(let value): .double(value)
        case .digits(let range):
            .number(BigNumber(checked: string(of: .init(range: range, hasEscapes: false))))
        }
    }

    private mutating func parseArray(depth: Int) throws(JSONParser.Failure) -> [JSONValue] {
        try enter(depth: depth)
        var elements: [JSONValue] = []
        if skip(0x5D) { return elements }
        while true {
            elements.append(try parseValue(depth: depth - 1))
            if skip(0x5D) { return elements }
            guard skip(0x2C) else { throw failure("a comma or the end of the array") }
        }
    }

    private mutating func parseObject(depth: Int) throws(JSONParser.Failure) -> JSONObject {
        try enter(depth: depth)
        var object = JSONObject()
        if skip(0x7D) { return object }
        while true {
            guard skip(0x22) else { throw failure("a key in quotes") }
            let key = string(of: try scanString())
            guard skip(0x3A) else { throw failure("a colon after the key") }
            object[key] = try parseValue(depth: depth - 1)
            if skip(0x7D) { return object }
            guard skip(0x2C) else { throw failure("a comma or the end of the object") }
        }
    }

    /// Moves into an array or object, unless they nest too deep.
    @inline(__always)
    mutating func enter(depth: Int) throws(JSONParser.Failure) {
        guard depth > 0 else { throw failure("less nesting of arrays and objects", .nesting) }
        position += 1
    }

    /// Moves past a punctuation mark, with the whitespace before it, if it comes next.
    @inline(__always)
    mutating func skip(_ mark: UInt8) -> Bool {
        skipWhitespace()
        guard position < end, byte(at: position) == mark else { return false }
        position += 1
        return true
    }
}
