// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage

/// How many words each of 512 documents has that follow each other by ordinal: a row of the store `lengths`.
///
///     1 byte     how many bytes a number takes: 1, 2, 4 or 8
///     numbers    little-endian, by ordinal; 0 for one that no document has, and none behind the last
///
/// All numbers of a row take the same space, so that one is found without reading those before.
struct DocumentLengths: Equatable {
    static let perRow: UInt64 = 512

    /// By ordinal, from that of the row's first document on.
    private(set) var numbers: [UInt64] = []

    static func row(_ ordinal: UInt64) -> Int64 { Int64(ordinal / perRow) }

    private static func place(_ ordinal: UInt64) -> Int { Int(ordinal % perRow) }

    init() {}

    init(_ row: Span<UInt8>) throws {
        let width = try Self.width(row)
        numbers = (0..<(row.count - 1) / width).map { Self.number(row, $0, width) }
    }

    /// The length of one document, from a row; 0 for none.
    static func length(of ordinal: UInt64, _ row: Span<UInt8>) throws -> UInt64 {
        let width = try width(row)
        let place = place(ordinal)
        return place < (row.count - 1) / width ? number(row, place, width) : 0
    }

    private static func width(_ row: Span<UInt8>) throws -> Int {
        guard row.count > 1 else { throw damage }
        let width = Int(row[0])
        guard width == 1 || width == 2 || width == 4 || width == 8,
            (row.count - 1).isMultiple(of: width), (row.count - 1) / width <= perRow
        else { throw damage }
        return width
    }

    private static func number(_ row: Span<UInt8>, _ place: Int, _ width: Int) -> UInt64 {
        var number: UInt64 = 0
        for byte in 0..<width {
            number |= UInt64(row[1 + place * width + byte]) << UInt64(8 * byte)
        }
        return number
    }

    /// The length of a document; 0 for none.
    subscript(ordinal: UInt64) -> UInt64 {
        get {
            let place = Self.place(ordinal)
            return place < numbers.count ? numbers[place] : 0
        }
        set {
            let place = Self.place(ordinal)
            while numbers.count <= place { numbers.append(0) }
            numbers[place] = newValue
            while numbers.last == 0 { numbers.removeLast() }
        }
    }

    var isEmpty: Bool { numbers.isEmpty }

    var bytes: [UInt8] {
        let largest = numbers.max() ?? 0
        let width = largest < 1 << 8 ? 1 : largest < 1 << 16 ? 2 : largest < 1 << 32 ? 4 : 8
        var bytes = [UInt8(width)]
        for number in numbers {
            for byte in 0..<width {
                bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(8 * byte)))
            }
        }
        return bytes
    }

    private static let damage = IndexCorruption("The lengths of documents are damaged.")
}
