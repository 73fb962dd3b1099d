// SPDX-License-Identifier: Apache-2.0

extension RowKeyCoder {
    /// Bytes that are not the encoding they were taken for.
    public struct Failure: Error, Equatable, CustomStringConvertible {
        /// Where the bytes go wrong, counted from the first one given.
        public var offset: Int
        /// What should stand there, in words. Never a piece of the key.
        public var expectation: String

        /// One sentence with both.
        public var description: String { "A row key lacks \(expectation) at byte \(offset)." }
    }

    /// Reads the value that the bytes encode.
    ///
    /// - Parameter key: The encoding of one value, and nothing else.
    /// - Returns: The plainest of the values that have this encoding, objects with sorted keys: an
    ///   integer for `1` and `1.0`.
    /// - Throws: `Failure` if the bytes are no such encoding.
    public func decode(_ key: Span<UInt8>) throws(Failure) -> JSONValue {
        var offset = 0
        let value = try decode(key, at: &offset)
        guard offset == key.count else {
            throw Failure(offset: offset, expectation: "its end")
        }
        return value
    }

    /// Reads one value from bytes in which more may follow, as a document's ID does in a row's key.
    ///
    /// - Parameters:
    ///   - key: Bytes with an encoding in them.
    ///   - offset: Where the encoding begins; afterwards, the byte after it; on a failure, any.
    /// - Returns: The plainest of the values that have this encoding, objects with sorted keys.
    /// - Throws: `Failure` if no encoding begins there.
    public func decode(_ key: Span<UInt8>, at offset: inout Int) throws(Failure) -> JSONValue {
        guard offset >= 0 else { throw Failure(offset: offset, expectation: "a value") }
        return try decode(key, at: &offset, depth: 0)
    }

    private func decode(
        _ key: Span<UInt8>, at offset: inout Int, depth: Int
    ) throws(Failure) -> JSONValue {
        switch type(ofTag: try RowKeyCoder.take(key, at: &offset, "a value")) {
        case .null: return .null
        case .false: return .bool(false)
        case .true: return .bool(true)
        case .number: return try decodeNumber(key, at: &offset)
        case .string: return .string(try decodeText(key, at: &offset))
        case .array: return .array(try decodeItems(key, at: &offset, depth: depth + 1))
        case .object: return .object(try decodePairs(key, at: &offset, depth: depth + 1))
        case nil: throw Failure(offset: offset - 1, expectation: "the tag of a value")
        }
    }

    /// Reads one null, boolean or text into a list.
    ///
    /// - Parameters:
    ///   - key: Bytes with an encoding in them.
    ///   - offset: Where the encoding begins; afterwards, the byte after it, if it was read.
    ///   - list: Gets the value.
    ///   - place: Where in the list, which has a missing value there.
    /// - Returns: False for any other value: its encoding does not tell how its numbers are written.
    /// - Throws: `Failure` if no encoding begins there.
    package func decode(
        _ key: Span<UInt8>, at offset: inout Int, into list: inout PackedList, at place: Int
    ) throws(Failure) -> Bool {
        switch type(ofTag: try RowKeyCoder.take(key, at: &offset, "a value")) {
        case .null: list.set(nil, at: place)
        case .false: list.set(false, at: place)
        case .true: list.set(true, at: place)
        case .string:
            try list.setText(at: place) { bytes throws(Failure) in
                try decodeText(key, at: &offset, to: &bytes)
            }
        case .number, .array, .object: return false
        case nil: throw Failure(offset: offset - 1, expectation: "the tag of a value")
        }
        return true
    }

    private func decodeItems(
        _ key: Span<UInt8>, at offset: inout Int, depth: Int
    ) throws(Failure) -> [JSONValue] {
        try RowKeyCoder.check(depth, at: offset)
        var items: [JSONValue] = []
        while try !RowKeyCoder.takeEnd(key, at: &offset) {
            items.append(try decode(key, at: &offset, depth: depth))
        }
        return items
    }

    private func decodePairs(
        _ key: Span<UInt8>, at offset: inout Int, depth: Int
    ) throws(Failure) -> JSONObject {
        try RowKeyCoder.check(depth, at: offset)
        var object = JSONObject()
        while try !RowKeyCoder.takeEnd(key, at: &offset) {
            guard type(ofTag: try RowKeyCoder.take(key, at: &offset, "a key")) == .string else {
                throw Failure(offset: offset - 1, expectation: "a key")
            }
            let name = try decodeText(key, at: &offset)
            object[name] = try decode(key, at: &offset, depth: depth)
        }
        return object
    }

    private static func check(_ depth: Int, at offset: Int) throws(Failure) {
        guard depth <= maximumDepth else {
            throw Failure(
                offset: offset - 1, expectation: "nesting of at most \(maximumDepth) levels")
        }
    }

    /// Takes the end of a list if it stands here.
    private static func takeEnd(_ key: Span<UInt8>, at offset: inout Int) throws(Failure) -> Bool {
        guard offset < key.count else {
            throw Failure(offset: offset, expectation: "the end of a list")
        }
        guard key[offset] == end else { return false }
        offset += 1
        return true
    }

    /// Takes a byte.
    static func take(
        _ key: Span<UInt8>, at offset: inout Int, _ expectation: @autoclosure () -> String
    ) throws(Failure) -> UInt8 {
        guard offset < key.count else { throw Failure(offset: offset, expectation: expectation()) }
        defer { offset += 1 }
        return key[offset]
    }
}
