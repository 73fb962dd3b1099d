// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The documents of a run in one file, which every runner maps into memory, so that the input
/// counts as no runner's anonymous memory and takes no runner's time.
///
/// ```
/// offset            size          meaning
/// 0                 8             n, the number of documents (little-endian, as all numbers here)
/// 8                 8 (n + 1)     where each text begins, relative to the first; then the end
/// 8 + 8 (n + 1)     36 n          document IDs, UUID text
/// …                               the JSON texts, one after another
/// ```
///
/// A text is lent as a `Span` of the mapped file, never copied, as an app would hand on the bytes of
/// an answer or of a file that it holds already:
///
/// ```swift
/// let document = try input.withText(7) { try MutableDocument(json: $0, id: input.id(7)) }
/// ```
public struct InputFile: @unchecked Sendable {
    /// How document IDs are made.
    public enum IDKind: String, Sendable, CaseIterable {
        /// Version 7 UUIDs a millisecond or less apart: each sorts after the one before.
        case generated
        /// Random UUIDs.
        case random
    }

    /// The error for a file that is not one of these, or not all of one.
    public struct InvalidInput: Error {
        /// The file.
        public var path: String
    }

    /// The file in memory, for as long as the process runs: what is measured is not the reading.
    ///
    /// It is never written to, so any thread may read it. It is looked at through spans only, which
    /// check each range.
    private let file: UnsafeBufferPointer<UInt8>

    /// The number of documents.
    public let count: Int

    /// Maps a file made by ``write(to:count:ids:)``.
    ///
    /// - Throws: ``InvalidInput`` when the file is too short for what its head announces.
    public init(path: String) throws {
        file = try Self.map(path)
        guard file.count >= 16 else { throw InvalidInput(path: path) }
        count = Self.number(in: file.span, at: 0)
        guard count >= 0, count < file.count / (8 + Self.idLength),
            textStart(count) == file.count
        else { throw InvalidInput(path: path) }
    }

    /// Returns a document's ID.
    public func id(_ index: Int) -> String {
        let start = 8 + 8 * (count + 1) + Self.idLength * index
        return file.span.extracting(start..<start + Self.idLength).withUnsafeBufferPointer {
            String(decoding: $0, as: UTF8.self)
        }
    }

    /// The length of a document's JSON text, in bytes.
    public func textLength(_ index: Int) -> Int {
        textStart(index + 1) - textStart(index)
    }

    /// Lends the bytes of a document's JSON text.
    public func withText<R>(_ index: Int, _ body: (Span<UInt8>) throws -> R) rethrows -> R {
        try body(file.span.extracting(textStart(index)..<textStart(index + 1)))
    }

    /// Where a text begins; for `count`, where the last one ends.
    private func textStart(_ index: Int) -> Int {
        8 + 8 * (count + 1) + Self.idLength * count
            + Self.number(in: file.span, at: 8 + 8 * index)
    }

    private static let idLength = 36

    /// Foundation's mapped data is a copy here, which would count as the runner's own memory.
    private static func map(_ path: String) throws -> UnsafeBufferPointer<UInt8> {
        let descriptor = open(path, O_RDONLY)
        guard descriptor >= 0 else { throw InvalidInput(path: path) }
        defer { close(descriptor) }
        let length = Int(lseek(descriptor, 0, SEEK_END))
        guard length > 0,
            let start = mmap(nil, length, PROT_READ, MAP_PRIVATE, descriptor, 0),
            start != MAP_FAILED
        else { throw InvalidInput(path: path) }
        return UnsafeBufferPointer(
            start: start.assumingMemoryBound(to: UInt8.self), count: length)
    }

    private static func number(in bytes: Span<UInt8>, at offset: Int) -> Int {
        var number: UInt64 = 0
        for index in (0..<8).reversed() { number = number << 8 | UInt64(bytes[offset + index]) }
        return Int(truncatingIfNeeded: number)
    }

    /// Writes the documents of the benchmark; the same arguments make the same bytes.
    public static func write(to path: String, count: Int, ids: IDKind) throws {
        var documents = PersonDocument(seed: 427)
        try write(to: path, count: count, ids: ids) { documents.next() }
    }

    /// Writes documents of any kind: `next` makes the JSON text of one after another.
    ///
    /// The texts go into the file as they are made, since those of ten million documents fill a memory.
    static func write(
        to path: String, count: Int, ids: IDKind, next: () throws -> String
    ) throws {
        guard FileManager.default.createFile(atPath: path, contents: nil),
            let file = FileHandle(forWritingAtPath: path)
        else { throw CocoaError(.fileWriteUnknown) }
        try file.seek(toOffset: UInt64(8 + 8 * (count + 1) + idLength * count))
        var numbers = SeededNumbers(seed: 7)
        var head = Data()
        appendNumber(UInt64(count), to: &head)
        appendNumber(0, to: &head)
        var names = Data()
        var texts = Data()
        var end: UInt64 = 0
        for index in 0..<count {
            let text = try next().utf8
            texts.append(contentsOf: text)
            end += UInt64(text.count)
            appendNumber(end, to: &head)
            names.append(contentsOf: uuid(ids, index: index, numbers: &numbers).utf8)
            if texts.count > 1 << 20 {
                try file.write(contentsOf: texts)
                texts.removeAll(keepingCapacity: true)
            }
        }
        try file.write(contentsOf: texts)
        try file.seek(toOffset: 0)
        try file.write(contentsOf: head + names)
        try file.close()
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
