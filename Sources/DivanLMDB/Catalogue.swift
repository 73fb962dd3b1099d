// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage

/// Which stores there are in one snapshot, and in which of LMDB's databases each lies.
///
/// LMDB's named databases do not belong to a snapshot: a handle belongs to the whole process, and
/// dropping a database takes its handle away from readers that still see it. So this only ever adds
/// databases, under numbers, and a store is an entry of this catalogue that names a number:
///
///      LMDB's database   what it holds
///      stores            the catalogue: store name → its entry
///      s0, s1, …         the rows of one store, or nothing while no store has the number
///      l0, l1, …         the ends of the long keys of store s0, s1, …; see `LongKeys`
///
/// An entry, as it is stored under the store's name:
///
///      offset  size  meaning
///           0     1  0 for integer keys, 1 for byte strings
///           1     1  1 when the store has long keys, else 0
///           2     4  the number, big-endian
///           6     4  CRC-32C of name and the 6 bytes before; little-endian
struct Catalogue: Equatable, Sendable {
    /// Where a store lies.
    struct Entry: Equatable, Sendable {
        var kind: StoreName.KeyKind
        var hasLongKeys = false
        var number: UInt32
    }

    /// The name of the database that holds it.
    static let name = "stores"
    private static let entrySize = 10

    private(set) var entries: [String: Entry] = [:]

    /// The names of the stores, in bytewise order.
    var names: [StoreName] {
        entries.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            .compactMap { name in entries[name].map { StoreName(name, $0.kind) } }
    }

    /// The names of LMDB's databases that the stores lie in.
    var databases: [String] {
        entries.values.flatMap { entry in
            entry.hasLongKeys
                ? [Catalogue.rows(entry.number), Catalogue.longKeys(entry.number)]
                : [Catalogue.rows(entry.number)]
        }
    }

    /// The database with the rows of a number.
    static func rows(_ number: UInt32) -> String { "s\(number)" }

    /// The database with the ends of a number's long keys.
    static func longKeys(_ number: UInt32) -> String { "l\(number)" }

    /// What one of LMDB's databases holds of a store, as its name tells.
    struct Rows {
        /// The number of the store.
        let number: UInt32
        /// Whether it holds the ends of long keys.
        let isLong: Bool

        /// Reads a name; `nil` for one that the engine does not make, and for the catalogue's.
        init?(_ name: String) {
            guard let number = UInt32(name.dropFirst()) else { return nil }
            self.number = number
            isLong = name == Catalogue.longKeys(number)
            guard isLong || name == Catalogue.rows(number) else { return nil }
        }
    }

    /// The lowest number that no store has.
    var freeNumber: UInt32 {
        let taken = Set(entries.values.map(\.number))
        var number: UInt32 = 0
        while taken.contains(number) {
            number += 1
        }
        return number
    }

    subscript(name: StoreName) -> Entry? {
        get { entries[name.name] }
        set { entries[name.name] = newValue }
    }

    // MARK: - Bytes

    /// The bytes of an entry.
    static func encode(_ entry: Entry, name: String) -> [UInt8] {
        var bytes: [UInt8] = [entry.kind.rawValue, entry.hasLongKeys ? 1 : 0]
        KeyEncoding.append(entry.number, to: &bytes)
        let sum = checksum(bytes.span, name: name)
        for shift in stride(from: 0, to: 32, by: 8) {
            bytes.append(UInt8(truncatingIfNeeded: sum >> UInt32(shift)))
        }
        return bytes
    }

    /// Adds what a row of the catalogue says.
    ///
    /// - Throws: `.corrupted` when the row is not as `encode` makes it.
    mutating func add(_ nameBytes: Span<UInt8>, _ value: Span<UInt8>) throws(StorageError) {
        let name = String(decoding: [UInt8](copying: nameBytes), as: UTF8.self)
        let damaged = StorageError(
            .corrupted, "The list of stores in the database file is damaged.")
        guard StoreName.isValid(name), value.count == Catalogue.entrySize,
            let kind = StoreName.KeyKind(rawValue: value[0]), value[1] <= 1
        else { throw damaged }
        var offset = 2
        let number = KeyEncoding.uint32(in: value, at: &offset) ?? 0
        let sum = Catalogue.checksum(value.extracting(0..<6), name: name)
        let stored = (0..<4).reduce(UInt32(0)) { $0 | UInt32(value[6 + $1]) << UInt32(8 * $1) }
        guard sum == stored else { throw damaged }
        entries[name] = Entry(kind: kind, hasLongKeys: value[1] == 1, number: number)
    }

    private static func checksum(_ bytes: Span<UInt8>, name: String) -> UInt32 {
        let name = Array(name.utf8)
        return ValueChecksum.continued(ValueChecksum.continued(0, over: name.span), over: bytes)
    }
}
