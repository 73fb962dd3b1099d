// SPDX-License-Identifier: Apache-2.0

extension RowKeyCoder {
    /// Writes the numbers of a decoded value as they were.
    ///
    /// - Parameters:
    ///   - value: What ``decode(_:at:)`` gave.
    ///   - forms: The bytes of the ``NumberForms`` that the value was encoded with.
    /// - Returns: The value that was encoded.
    /// - Throws: `Failure` if these are not the forms of this value; its offset counts in them.
    package func restoring(
        _ value: JSONValue, _ forms: Span<UInt8>
    ) throws(Failure) -> JSONValue {
        guard forms.count > 0 else { return value }
        var reader = try FormReader(forms)
        let restored = try reader.restore(value)
        guard reader.isAtEnd else { throw reader.failure("a number that the form is of") }
        return restored
    }
}

/// Goes through the numbers of a value and a list of forms side by side.
private struct FormReader {
    private let bytes: [UInt8]
    private var offset = 0
    /// The next entry: the numbers before it, and its form; nil when there are no more.
    private var next: (plain: UInt64, form: NumberForms.Form)?

    init(_ forms: Span<UInt8>) throws(RowKeyCoder.Failure) {
        // SAFETY: the buffer is copied within the closure.
        bytes = unsafe forms.withUnsafeBufferPointer { unsafe Array($0) }
        try readEntry()
    }

    var isAtEnd: Bool { next == nil }

    mutating func restore(_ value: JSONValue) throws(RowKeyCoder.Failure) -> JSONValue {
        switch value {
        case .null, .bool, .string: return value
        case .integer, .unsigned, .double, .number: return try restoreNumber(value)
        case .array(let items):
            var restored: [JSONValue] = []
            restored.reserveCapacity(items.count)
            for item in items { restored.append(try restore(item)) }
            return .array(restored)
        case .object(let object):
            var restored = JSONObject()
            for (name, value) in object { restored[name] = try restore(value) }
            return .object(restored)
        }
    }

    private mutating func restoreNumber(
        _ plain: JSONValue
    ) throws(RowKeyCoder.Failure) -> JSONValue {
        guard let entry = next else { return plain }
        guard entry.plain == 0 else {
            next?.plain -= 1
            return plain
        }
        let restored: JSONValue?
        switch entry.form {
        case .negativeZero: restored = .double(-0.0)
        case .double: restored = plain.exactDouble.map { .double($0) }
        case .text: restored = .number(try readText())
        }
        // Whatever was restored must be that number, in a form that needs an entry.
        guard let restored, ExactNumber(restored).form == entry.form,
            ExactNumber(restored).compare(ExactNumber(plain), breakingTies: false) == 0
        else { throw failure("a form that its number has") }
        try readEntry()
        return restored
    }

    private mutating func readEntry() throws(RowKeyCoder.Failure) {
        guard offset < bytes.count else { return next = nil }
        let head = try readVarint()
        guard let form = NumberForms.Form(rawValue: head & 3) else {
            throw failure("the form of a number")
        }
        next = (head >> 2, form)
    }

    private mutating func readText() throws(RowKeyCoder.Failure) -> BigNumber {
        let length = try readVarint()
        guard length <= UInt64(bytes.count - offset) else { throw failure("a number's text") }
        let end = offset + Int(length)
        guard let text = String(validating: bytes[offset..<end], as: UTF8.self),
            let number = BigNumber(text)
        else { throw failure("a number's text") }
        offset = end
        return number
    }

    private mutating func readVarint() throws(RowKeyCoder.Failure) -> UInt64 {
        var (value, shift): (UInt64, UInt64) = (0, 0)
        while offset < bytes.count, shift < 63 {
            let byte = bytes[offset]
            offset += 1
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        throw failure("the end of a count")
    }

    func failure(_ expectation: String) -> RowKeyCoder.Failure {
        RowKeyCoder.Failure(offset: offset, expectation: expectation)
    }
}

extension JSONValue {
    /// The double that an integer is; nil if none is.
    fileprivate var exactDouble: Double? {
        switch self {
        case .integer(let value): Double(exactly: value)
        case .unsigned(let value): Double(exactly: value)
        default: nil
        }
    }
}
