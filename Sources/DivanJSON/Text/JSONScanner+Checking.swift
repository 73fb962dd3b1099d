// SPDX-License-Identifier: Apache-2.0

/// Checking a text without building anything of it.
extension JSONScanner {
    /// Where a text breaks the rules; nil when it is one JSON value.
    ///
    /// It takes no memory, so a long text that is wrong at its end costs nothing but time.
    static func failure(in text: Span<UInt8>, depth: Int) -> JSONParser.Failure? {
        // SAFETY: the scanner lives inside the closure, while the span's bytes are borrowed.
        unsafe text.withUnsafeBufferPointer { buffer in
            var scanner = unsafe JSONScanner(buffer)
            do throws(JSONParser.Failure) {
                try scanner.checkValue(depth: depth)
                try scanner.finish()
                return nil
            } catch { return error }
        }
    }

    private mutating func checkValue(depth: Int) throws(JSONParser.Failure) {
        skipWhitespace()
        guard let first = current else { throw failure("a value") }
        switch first {
        case 0x22:
            position += 1
            _ = try scanString()
        case 0x7B: try checkObject(depth: depth)
        case 0x5B: try checkArray(depth: depth)
        case 0x6E: try skipLiteral("null")
        case 0x74: try skipLiteral("true")
        case 0x66: try skipLiteral("false")
        case 0x2D, 0x30...0x39: _ = try scanNumber()
        default: throw failure("a value")
        }
    }

    private mutating func checkArray(depth: Int) throws(JSONParser.Failure) {
        try enter(depth: depth)
        if skip(0x5D) { return }
        while true {
            try checkValue(depth: depth - 1)
            if skip(0x5D) { return }
            guard skip(0x2C) else { throw failure("a comma or the end of the array") }
        }
    }

    private mutating func checkObject(depth: Int) throws(JSONParser.Failure) {
        try enter(depth: depth)
        if skip(0x7D) { return }
        while true {
            guard skip(0x22) else { throw failure("a key in quotes") }
            _ = try scanString()
            guard skip(0x3A) else { throw failure("a colon after the key") }
            try checkValue(depth: depth - 1)
            if skip(0x7D) { return }
            guard skip(0x2C) else { throw failure("a comma or the end of the object") }
        }
    }
}
