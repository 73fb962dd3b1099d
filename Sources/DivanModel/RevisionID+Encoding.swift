// SPDX-License-Identifier: Apache-2.0

/// The compact binary form of a revision ID.
///
/// ```
/// size      content
/// 1…8       generation ‖ form, a varint: generation × 2, plus 1 if the digest is opaque
/// 16        the digest's 128 bits, the highest first      — form 0
/// 1 + n     n, then n bytes of UTF-8                      — form 1
/// ```
extension RevisionID {
    /// Appends the compact binary form.
    ///
    /// - Parameter bytes: Where to append: 17 bytes for most IDs.
    public func append(to bytes: inout [UInt8]) {
        precondition(isValid, "Only the ID of a revision has a binary form.")
        let form: UInt64 = if case .opaque = storage { 1 } else { 0 }
        Varint.append(generation << 1 | form, to: &bytes)
        appendDigest(to: &bytes)
    }

    /// Returns the ID whose compact binary form starts at `offset`, and moves `offset` behind it.
    ///
    /// - Parameters:
    ///   - bytes: Bytes written by ``append(to:)``, or damaged ones.
    ///   - offset: Where to start; unspecified after an error.
    /// - Returns: The ID.
    /// - Throws: `ModelCorruption` if the bytes are not the form of an ID.
    public static func decode(
        _ bytes: Span<UInt8>, at offset: inout Int
    ) throws(ModelCorruption) -> RevisionID {
        let (generation, isOpaque) = try decodeHead(bytes, at: &offset)
        let storage = try Storage.decode(bytes, at: &offset, isOpaque: isOpaque)
        return RevisionID(checkedGeneration: generation, storage: storage)
    }

    /// Moves `offset` behind the compact binary form that starts there, without making an ID of it.
    ///
    /// - Parameters:
    ///   - bytes: Bytes written by ``append(to:)``, or damaged ones.
    ///   - offset: Where to start; unspecified after an error.
    /// - Returns: The generation.
    /// - Throws: `ModelCorruption` if the bytes are too few, or the generation is out of its range. Whether an opaque
    ///   digest is one, ``decode(_:at:)`` tells.
    package static func skip(
        _ bytes: Span<UInt8>, at offset: inout Int
    ) throws(ModelCorruption) -> UInt64 {
        let (generation, isOpaque) = try decodeHead(bytes, at: &offset)
        var length = 16
        if isOpaque {
            guard offset < bytes.count else {
                throw ModelCorruption(offset: offset, expectation: "the length of a digest")
            }
            length = 1 + Int(bytes[offset])
        }
        guard length > 1, length <= bytes.count - offset else {
            throw ModelCorruption(offset: offset, expectation: "a digest")
        }
        offset += length
        return generation
    }

    @inline(__always)
    private static func decodeHead(
        _ bytes: Span<UInt8>, at offset: inout Int
    ) throws(ModelCorruption) -> (generation: UInt64, isOpaque: Bool) {
        let start = offset
        let head = try Varint.decode(bytes, at: &offset)
        let generation = head >> 1
        guard generation >= 1, generation <= maximumGeneration else {
            throw ModelCorruption(offset: start, expectation: "a generation of 1 to 2^53")
        }
        return (generation, head & 1 == 1)
    }

    /// Appends the digest without the generation: 16 bytes, or a length and text.
    @inline(__always)
    func appendDigest(to bytes: inout [UInt8]) {
        switch storage {
        case .md5(let high, let low):
            bytes.appendBigEndian(high, low)
        case .opaque(let digest):
            bytes.append(UInt8(truncatingIfNeeded: digest.text.utf8.count))
            bytes.append(contentsOf: digest.text.utf8)
        }
    }

    /// Appends the ID as text, without making a `String` of it.
    func appendText(to bytes: inout [UInt8]) {
        assert(isValid, "Only IDs that were checked are stored.")
        bytes.append(contentsOf: String(generation).utf8)
        bytes.append(UInt8(ascii: "-"))
        switch storage {
        case .md5(let high, let low): HexadecimalText.append(high: high, low: low, to: &bytes)
        case .opaque(let digest): bytes.append(contentsOf: digest.text.utf8)
        }
    }
}

extension RevisionID.Storage {
    /// Reads what `appendDigest(to:)` wrote.
    @inline(__always)
    static func decode(
        _ bytes: Span<UInt8>, at offset: inout Int, isOpaque: Bool
    ) throws(ModelCorruption) -> RevisionID.Storage {
        if isOpaque { return try decodeOpaque(bytes, at: &offset) }
        guard let high = bytes.bigEndianWord(at: offset),
            let low = bytes.bigEndianWord(at: offset + 8)
        else {
            throw ModelCorruption(offset: offset, expectation: "16 bytes of digest")
        }
        offset += 16
        return .md5(high: high, low: low)
    }

    private static func decodeOpaque(
        _ bytes: Span<UInt8>, at offset: inout Int
    ) throws(ModelCorruption) -> RevisionID.Storage {
        guard offset >= 0, offset < bytes.count else {
            throw ModelCorruption(offset: offset, expectation: "the length of a digest")
        }
        let length = Int(bytes[offset])
        let start = offset + 1
        guard length >= 1, start + length <= bytes.count else {
            throw ModelCorruption(offset: offset, expectation: "a digest of 1 to 255 bytes")
        }
        var utf8: [UInt8] = []
        utf8.reserveCapacity(length)
        for index in start..<start + length { utf8.append(bytes[index]) }
        // 32 hexadecimal digits have the other form, and only that one.
        guard let text = String(validating: utf8, as: UTF8.self),
            case .opaque(let digest) = RevisionID.Storage(Substring(text))
        else {
            throw ModelCorruption(offset: start, expectation: "an opaque digest in UTF-8")
        }
        offset = start + length
        return .opaque(digest)
    }
}
