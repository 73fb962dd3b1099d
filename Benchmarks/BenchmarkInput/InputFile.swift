// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The documents of a run in one file, which every runner maps into memory, so that the input
/// counts as nobody's anonymous memory and costs nobody any time.
///
/// ```
/// offset            size          meaning
/// 0                 8             n, the number of documents (little-endian, as all numbers here)
/// 8                 8 (n + 1)     where each text begins, relative to the first; then the end
/// 8 + 8 (n + 1)     36 n          document IDs, UUID text
/// …                               the JSON texts, one after another
/// ```
public struct InputFile: @unchecked Sendable {
    /// How document IDs are made.
    public enum IDKind: String, Sendable, CaseIterable {
        /// Version 7 UUIDs a millisecond or less apart: each sorts after the one before.
        case generated
        /// Random UUIDs.
        case random
    }

    /// The file in memory, for as long as the process runs: what is measured is not the reading.
    private let bytes: UnsafeRawBufferPointer

    /// The number of documents.
    public let count: Int

    /// Maps a file made by ``write(to:count:ids:)``.
    public init(path: String) throws {
        let data = try NSData(contentsOfFile: path, options: .alwaysMapped)
        bytes = UnsafeRawBufferPointer(
            start: Unmanaged.passRetained(data).takeUnretainedValue().bytes, count: data.length)
        count = Int(Self.number(in: bytes, at: 0))
    }

    /// Returns a document's ID.
    public func id(_ index: Int) -> String {
        let start = 8 + 8 * (count + 1) + 36 * index
        return String(decoding: bytes[start..<start + 36], as: UTF8.self)
    }

    /// Lends the bytes of a document's JSON text.
    public func withText<R>(_ index: Int, _ body: (Span<UInt8>) throws -> R) rethrows -> R {
        let base = 8 + 8 * (count + 1) + 36 * count
        let start = base + Int(Self.number(in: bytes, at: 8 + 8 * index))
        let end = base + Int(Self.number(in: bytes, at: 16 + 8 * index))
        let text = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
        return try body(Span(_unsafeElements: text.assumingMemoryBound(to: UInt8.self)))
    }

    private static func number(in bytes: UnsafeRawBufferPointer, at offset: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// Writes the documents of the benchmark; the same arguments make the same bytes.
    public static func write(to path: String, count: Int, ids: IDKind) throws {
        var documents = PersonDocument(seed: 427)
        var numbers = SeededNumbers(seed: 7)
        var offsets = Data()
        var names = Data()
        var texts = Data()
        appendNumber(0, to: &offsets)
        for index in 0..<count {
            texts.append(contentsOf: documents.next().utf8)
            appendNumber(UInt64(texts.count), to: &offsets)
            names.append(contentsOf: uuid(ids, index: index, numbers: &numbers).utf8)
        }
        var whole = Data()
        appendNumber(UInt64(count), to: &whole)
        try (whole + offsets + names + texts).write(to: URL(fileURLWithPath: path))
    }

    private static func appendNumber(_ number: UInt64, to data: inout Data) {
        withUnsafeBytes(of: number.littleEndian) { data.append(contentsOf: $0) }
    }

    /// A version 7 UUID has 48 bits of milliseconds at its head; three documents share each here, and
    /// 12 bits after the version keep them in order.
    private static func uuid(_ kind: IDKind, index: Int, numbers: inout SeededNumbers) -> String {
        var high = numbers.next()
        let low = numbers.next() & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000
        switch kind {
        case .random:
            high = high & ~0xf000 | 0x4000
        case .generated:
            let milliseconds = 1_790_000_000_000 + UInt64(index / 3)
            high = milliseconds << 16 | 0x7000 | UInt64(index % 3) << 10 | high & 0x3ff
        }
        let digits = hex(high) + hex(low)
        let parts = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32]
        return parts.map { String(digits[$0]) }.joined(separator: "-")
    }

    private static func hex(_ number: UInt64) -> [Character] {
        let digits = Array(String(number, radix: 16))
        return Array(repeating: "0", count: 16 - digits.count) + digits
    }
}
