// SPDX-License-Identifier: Apache-2.0

/// The name of a document, unique within its database.
///
/// ```swift
/// let invoice: DocumentID = "invoice:2026-11-0042"
/// let user = DocumentID("user:\(name)")
/// try database.document(withID: "user:\(name)")      // a literal is an ID where one is expected
/// ```
///
/// An ID is 1 to 4,096 bytes of UTF-8 and may contain any character but NUL. A leading underscore
/// is reserved: only *design documents* (`_design/name`) and *local documents* (`_local/name`,
/// never replicated) begin with one.
///
/// Any text can be made an ID, so that an app needs no `try` where it only names a document. An
/// operation on the document checks the ID first, and refuses a text that breaks the rules with an
/// error that names it. Code that takes texts from outside checks them where they come in, with
/// ``init(validating:)``. The ID of a document that a database returns is valid; one that an app has
/// stored as a property, or an error repeats, may not be.
///
/// IDs are equal, hashed and ordered by their UTF-8 bytes, as other databases of this family do.
/// Two spellings of a letter that Swift's `String` calls equal (`é` as one code point or as two)
/// are therefore two IDs.
public struct DocumentID: Sendable {
    /// The length of the longest ID, in bytes of UTF-8.
    public static let maximumLength = 4096

    /// The ID as text.
    public let text: String

    /// Names the document whose ID is `text`; the operation that is given the ID checks it.
    ///
    /// - Parameter text: Any text; one that breaks the rules names no document.
    public init(_ text: String) {
        self.text = text
    }

    /// Copies an ID that is lent as bytes of UTF-8, as an enumeration of IDs lends them.
    ///
    /// - Parameter utf8: The bytes. What is no UTF-8 among them becomes U+FFFD, and then names no document that
    ///   a database has.
    public init(copying utf8: Span<UInt8>) {
        text = String(copying: utf8)
    }

    /// Makes an ID of a text that comes from outside.
    ///
    /// - Parameter text: 1 to 4,096 bytes of UTF-8 without NUL.
    /// - Throws: `IDFailure` that says which rule `text` breaks.
    public init(validating text: String) throws(IDFailure) {
        if let failure = Self.failure(of: text) { throw failure }
        self.text = text
    }

    /// Throws unless the ID keeps the rules.
    ///
    /// - Throws: `IDFailure` that says which rule the text breaks.
    package func validate() throws(IDFailure) {
        if let failure = Self.failure(of: text) { throw failure }
    }

    /// Whether this is the ID of a design document.
    public var isDesign: Bool { isReserved && text.utf8.starts(with: "_design/".utf8) }

    /// Whether this is the ID of a local document.
    public var isLocal: Bool { isReserved && text.utf8.starts(with: "_local/".utf8) }

    /// Whether bytes in UTF-8 are the ID of a design document.
    package static func isDesign(_ id: Span<UInt8>) -> Bool {
        // "_design/"
        id.bigEndianWord(at: 0) == 0x5F64_6573_6967_6E2F
    }

    /// Whether the ID begins as only those of design and local documents may.
    private var isReserved: Bool { text.utf8.first == UInt8(ascii: "_") }

    /// Whether the text keeps the rules for IDs.
    public var isValid: Bool { Self.failure(of: text) == nil }

    private static func failure(of text: String) -> IDFailure? {
        let bytes = text.utf8
        guard let first = bytes.first else { return .emptyDocumentID }
        if bytes.count > maximumLength { return .documentIDTooLong }
        if text.containsNUL { return .documentIDContainsNUL }
        guard first == UInt8(ascii: "_") else { return nil }
        for prefix in ["_design/", "_local/"]
        where bytes.count > prefix.utf8.count && bytes.starts(with: prefix.utf8) {
            return nil
        }
        return .reservedDocumentID
    }
}

extension DocumentID: Hashable, Comparable {
    /// Whether both IDs have the same bytes.
    public static func == (left: DocumentID, right: DocumentID) -> Bool {
        left.text.hasSameBytes(as: right.text)
    }

    /// Whether the bytes of `left` stand before those of `right`.
    public static func < (left: DocumentID, right: DocumentID) -> Bool {
        left.text.precedesBytes(of: right.text)
    }

    /// Feeds the bytes of the ID to `hasher`.
    ///
    /// - Parameter hasher: The hasher to feed.
    public func hash(into hasher: inout Hasher) {
        text.hashBytes(into: &hasher)
    }
}

extension DocumentID: ExpressibleByStringInterpolation {
    /// Makes an ID of a literal; the operation that is given the ID checks it.
    ///
    /// - Parameter text: The literal.
    public init(stringLiteral text: String) {
        self.init(text)
    }
}

extension DocumentID: CustomStringConvertible {
    /// The ID as text.
    public var description: String { text }
}

extension DocumentID: Codable {
    /// Decodes an ID from a single string.
    ///
    /// - Parameter decoder: Where to read the string.
    /// - Throws: `DecodingError` if there is no string, or it is not a document ID.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        if let failure = Self.failure(of: text) {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: failure.description)
        }
        self.text = text
    }

    /// Encodes the ID as a single string.
    ///
    /// - Parameter encoder: Where to write the string.
    /// - Throws: Whatever `encoder` throws.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}
