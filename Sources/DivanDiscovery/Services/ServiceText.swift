// SPDX-License-Identifier: Apache-2.0

/// What a service tells about itself: keys, most of them with a value (RFC 6763, 6).
///
/// ```swift
/// let text: ServiceText = ["path": "/notes", "v": "2"]
/// text["path"]                                    // "/notes"
/// ```
///
/// Every device on the network can read it, so it should name neither a person nor a database. A key has 1 or more printable ASCII
/// characters other than `=`; upper and lower case are the same. A key with its value has at most 254 bytes, and all together
/// have at most 1,300, so that an answer fits one packet. What a service on the network sends is not held to this: its first
/// value of each key counts.
public struct ServiceText: Sendable, ExpressibleByDictionaryLiteral {
    /// Bytes of all keys and values together, with one byte more for each.
    public static let longest = 1_300

    /// The strings as they are sent, `key=value` or `key`.
    package private(set) var strings: [[UInt8]]

    /// Makes an empty one.
    public init() { strings = [] }

    /// Takes keys and values.
    public init(dictionaryLiteral elements: (String, String)...) {
        strings = elements.map { Array("\($0)=\($1)".utf8) }
    }

    /// Takes the strings of a record.
    package init(strings: [[UInt8]]) { self.strings = strings }

    /// The value of a key as text; nil when there is none, or it is no UTF-8. Setting it puts the key at the end.
    public subscript(key: String) -> String? {
        get { bytes(of: key).flatMap { String(validating: $0, as: UTF8.self) } }
        set {
            strings.removeAll { Self.key(of: $0) == Self.folded(key.utf8) }
            if let newValue { strings.append(Array("\(key)=\(newValue)".utf8)) }
        }
    }

    /// The value of a key as bytes; nil when the key is not there or has none.
    public func bytes(of key: String) -> [UInt8]? {
        let key = Self.folded(key.utf8)
        guard let string = strings.first(where: { Self.key(of: $0) == key }),
            let place = string.firstIndex(of: UInt8(ascii: "="))
        else { return nil }
        return Array(string[(place + 1)...])
    }

    /// The keys in their order, as far as they are text.
    public var keys: [String] {
        strings.compactMap { string in
            String(validating: string.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self)
        }
    }

    /// Says what is wrong with a text that is to be sent.
    package func check() throws(DiscoveryError) {
        for string in strings {
            let key = string.prefix { $0 != UInt8(ascii: "=") }
            guard !key.isEmpty, key.allSatisfy({ (0x20...0x7E).contains($0) }) else {
                throw DiscoveryError(
                    .invalidName,
                    "A key of the service's text has characters other than printable ASCII, or none; rename it."
                )
            }
            guard string.count <= 254 else {
                throw DiscoveryError(
                    .invalidName,
                    "The key '\(String(decoding: key, as: UTF8.self))' of the service's text has \(string.count) bytes with its value;"
                        + " keep them to 254.")
            }
        }
        let total = strings.reduce(0) { $0 + 1 + $1.count }
        guard total <= Self.longest else {
            throw DiscoveryError(
                .invalidName,
                "The service's text has \(total) bytes; keep it to \(Self.longest), so that it fits a packet."
            )
        }
    }

    private static func key(of string: [UInt8]) -> [UInt8] {
        folded(string.prefix { $0 != UInt8(ascii: "=") })
    }

    private static func folded(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        bytes.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
    }
}

extension ServiceText: Equatable {
    /// Whether both would be sent as the same bytes.
    public static func == (left: ServiceText, right: ServiceText) -> Bool {
        left.strings == right.strings
    }
}
