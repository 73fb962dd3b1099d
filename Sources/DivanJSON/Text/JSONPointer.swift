// SPDX-License-Identifier: Apache-2.0

/// The place of a value within another, by RFC 6901.
///
/// ```swift
/// let zip = JSONPointer("/address/zip")
/// document[pointer]?.string
/// ```
///
/// The empty pointer is the whole value. In a key `~` is written `~0` and `/` is written `~1`. In
/// an array a token is an index without leading zeros; `-`, the place after the last, finds
/// nothing.
public struct JSONPointer: Sendable, Hashable {
    /// The keys and indices from the outermost value inwards, without escapes.
    @ByBytes public private(set) var tokens: [String]

    /// Reads a pointer.
    ///
    /// - Returns: `nil` if the text is not empty and does not begin with `/`, or has a `~` without
    ///   0 or 1 after it.
    public init?(_ text: String) {
        guard !text.isEmpty else {
            tokens = []
            return
        }
        guard text.utf8.first == 0x2F else { return nil }
        var tokens: [String] = []
        for part in text.utf8.dropFirst().split(separator: 0x2F, omittingEmptySubsequences: false) {
            guard let token = Self.unescape(part) else { return nil }
            tokens.append(token)
        }
        self.tokens = tokens
    }

    /// Creates a pointer from keys and indices.
    public init(tokens: [String]) {
        self.tokens = tokens
    }

    private static func unescape(_ part: Substring.UTF8View) -> String? {
        var bytes: [UInt8] = []
        var iterator = part.makeIterator()
        while let byte = iterator.next() {
            guard byte == 0x7E else {
                bytes.append(byte)
                continue
            }
            switch iterator.next() {
            case 0x30: bytes.append(0x7E)
            case 0x31: bytes.append(0x2F)
            default: return nil
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A token as an index; `nil` if it is not written as one.
    static func index(_ token: String) -> Int? {
        let digits = token.utf8
        guard digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        if digits.count > 1, digits.first == 0x30 { return nil }
        return Int(token)
    }
}

extension JSONPointer: CustomStringConvertible {
    /// The pointer's text.
    public var description: String {
        var text: [UInt8] = []
        for token in tokens {
            text.append(0x2F)
            for byte in token.utf8 {
                switch byte {
                case 0x7E: text += [0x7E, 0x30]
                case 0x2F: text += [0x7E, 0x31]
                default: text.append(byte)
                }
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}

extension JSONValue {
    /// The value at a place inside this one; `nil` when there is none.
    public subscript(pointer: JSONPointer) -> JSONValue? {
        var value = self
        for token in pointer.tokens {
            let next: JSONValue?
            if case .array = value {
                next = JSONPointer.index(token).flatMap { value[$0] }
            } else {
                next = value[token]
            }
            guard let next else { return nil }
            value = next
        }
        return value
    }
}

extension PackedValue {
    /// The value at a place inside this one; `nil` when there is none.
    public subscript(pointer: JSONPointer) -> PackedValue? {
        var value = self
        for token in pointer.tokens {
            let next =
                value.kind == .array
                ? JSONPointer.index(token).flatMap { value[$0] } : value[token]
            guard let next else { return nil }
            value = next
        }
        return value
    }
}
