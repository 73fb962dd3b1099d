// SPDX-License-Identifier: Apache-2.0

/// The name of one revision of a document: a generation and a digest, written `3-5c9a…`.
///
/// ```swift
/// let id: RevisionID = "2-b09f34fcf463bd76c429f623b8570b78"
/// id.generation        // 2
/// id.digest            // "b09f34fcf463bd76c429f623b8570b78"
/// ```
///
/// The *generation* counts edits: the first revision has 1, and a child has its parent's plus one.
/// The *digest* tells revisions of one generation apart. Divan computes it from the parent's ID,
/// the deletion flag and the body (``of(parent:isDeleted:body:digest:scratch:)``), so that the same
/// edit made on two devices is one revision and no conflict. Digests made by other systems are
/// opaque: any 1 to 255 bytes of UTF-8.
///
/// **Order.** IDs are ordered by generation as a number, then by digest as bytes: `9-z` < `10-B` <
/// `10-a`. The order decides between conflicting revisions, so every peer must agree on it.
///
/// **Storage.** A digest of 32 lower-case hexadecimal digits, which nearly all are, is kept as 128
/// bits in place: copying and comparing such an ID touches no heap. Any other is kept as text.
/// One text has one form, so equality is equality of the stored values.
///
/// **Texts.** Any text can be made an ID: one that is no revision ID has generation 0, which no
/// revision has, and an operation on the revision refuses it. Code that takes texts from outside
/// checks them where they come in, with ``init(validating:)``. The ID of a revision that a database
/// returns is valid.
///
/// What it does not do: it does not know which document or tree it belongs to, and it does not
/// check a digest against a body.
public struct RevisionID: Sendable, Hashable {
    /// The highest generation: beyond it, JSON numbers of other systems lose precision.
    public static let maximumGeneration: UInt64 = 1 << 53

    /// The length of the longest digest, in bytes of UTF-8.
    public static let maximumDigestLength = 255

    /// The number of edits from the first revision of the document to this one, both included; 0 if
    /// this is the ID of no revision.
    public let generation: UInt64

    let storage: Storage

    /// A digest in its one form.
    enum Storage: Sendable, Hashable {
        /// 32 lower-case hexadecimal digits, as the number that they spell.
        case md5(high: UInt64, low: UInt64)
        /// Anything else.
        case opaque(OpaqueDigest)
    }

    /// Names a revision; the operation that is given the ID checks it.
    ///
    /// - Parameter text: A decimal generation without leading zeros, a hyphen, and a digest. Any
    ///   other text names no revision.
    public init(_ text: String) {
        do throws(IDFailure) {
            try self.init(validating: text)
        } catch {
            self.init(checkedGeneration: 0, storage: .opaque(OpaqueDigest(text: text)))
        }
    }

    /// Makes an ID of a text that comes from outside.
    ///
    /// - Parameter text: A decimal generation without leading zeros, a hyphen, and a digest.
    /// - Throws: `IDFailure` if a part is missing, or out of its range.
    public init(validating text: String) throws(IDFailure) {
        guard let hyphen = text.utf8.firstIndex(of: UInt8(ascii: "-")) else {
            throw .malformedRevisionID
        }
        let generation = try Self.parseGeneration(text[..<hyphen].utf8)
        let digest = text[text.utf8.index(after: hyphen)...]
        try self.init(generation: generation, digest: digest)
    }

    /// Whether this is an ID that a revision can have.
    public var isValid: Bool { generation > 0 }

    /// Throws unless this is an ID that a revision can have.
    ///
    /// - Throws: `IDFailure` that says what the text lacks.
    package func validate() throws(IDFailure) {
        if !isValid { _ = try RevisionID(validating: digest) }
    }

    /// Makes an ID of its two parts.
    ///
    /// - Parameters:
    ///   - generation: 1 to ``maximumGeneration``.
    ///   - digest: 1 to ``maximumDigestLength`` bytes of UTF-8.
    /// - Throws: `IDFailure` if a part is out of its range.
    public init(generation: UInt64, digest: some StringProtocol) throws(IDFailure) {
        guard generation >= 1, generation <= Self.maximumGeneration else {
            throw .generationOutOfRange
        }
        guard let storage = Storage(Substring(digest)) else { throw .digestLengthOutOfRange }
        self.generation = generation
        self.storage = storage
    }

    /// Makes an ID whose digest is an MD5.
    ///
    /// - Parameters:
    ///   - generation: 1 to ``maximumGeneration``.
    ///   - md5: The two halves of the MD5, the first eight bytes first, as big-endian numbers.
    public init(generation: UInt64, md5: (UInt64, UInt64)) {
        precondition(
            generation >= 1 && generation <= Self.maximumGeneration,
            "A revision's generation must be between 1 and 2^53.")
        self.init(checkedGeneration: generation, storage: .md5(high: md5.0, low: md5.1))
    }

    /// Makes an ID of parts that were checked before.
    init(checkedGeneration generation: UInt64, storage: Storage) {
        self.generation = generation
        self.storage = storage
    }

    /// The digest as text; of a text that is no revision ID, the whole text.
    public var digest: String {
        switch storage {
        case .md5(let high, let low): HexadecimalText.text(high: high, low: low)
        case .opaque(let digest): digest.text
        }
    }

    private static func parseGeneration(
        _ digits: Substring.UTF8View
    ) throws(IDFailure) -> UInt64 {
        // 16 digits hold 2^53. Leading zeros would give one revision two names.
        guard let first = digits.first, first != UInt8(ascii: "0") || digits.count == 1 else {
            throw .malformedRevisionID
        }
        var generation: UInt64 = 0
        for digit in digits {
            guard digit >= 0x30, digit <= 0x39 else { throw .malformedRevisionID }
            guard generation <= maximumGeneration else { throw .generationOutOfRange }
            generation = generation * 10 + UInt64(digit - 0x30)
        }
        return generation
    }
}

extension RevisionID: Comparable {
    /// Whether `left` has the lower generation or, in the same one, the digest whose bytes are
    /// lower.
    public static func < (left: RevisionID, right: RevisionID) -> Bool {
        if left.generation != right.generation { return left.generation < right.generation }
        switch (left.storage, right.storage) {
        case (.md5(let leftHigh, let leftLow), .md5(let rightHigh, let rightLow)):
            // Digits sort as the numbers that they spell, because "9" < "a" in ASCII.
            return leftHigh != rightHigh ? leftHigh < rightHigh : leftLow < rightLow
        default:
            return left.digest.utf8.lexicographicallyPrecedes(right.digest.utf8)
        }
    }
}

extension RevisionID: ExpressibleByStringInterpolation {
    /// Makes an ID of a literal; the operation that is given the ID checks it.
    ///
    /// - Parameter text: The literal.
    public init(stringLiteral text: String) {
        self.init(text)
    }
}

extension RevisionID: CustomStringConvertible {
    /// The ID as text: generation, hyphen, digest.
    public var description: String {
        switch storage {
        case .md5(let high, let low):
            HexadecimalText.text(generation, high: high, low: low)
        case .opaque(let digest):
            isValid ? "\(generation)-\(digest.text)" : digest.text
        }
    }
}

extension RevisionID: Codable {
    /// Decodes an ID from a single string.
    ///
    /// - Parameter decoder: Where to read the string.
    /// - Throws: `DecodingError` if there is no string, or it is not a revision ID.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        do throws(IDFailure) {
            try self.init(validating: text)
        } catch {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: error.description)
        }
    }

    /// Encodes the ID as a single string.
    ///
    /// - Parameter encoder: Where to write the string.
    /// - Throws: Whatever `encoder` throws.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
