// SPDX-License-Identifier: Apache-2.0

import DivanPlatform
@testable import DivanSQLite
import DivanStorage
import DivanSystem
import DivanTestSupport
import Foundation

/// Files that an attacker makes, who has the format from docs/encryption.md and no key of the database.
///
/// They hold a database of the attacker's own, of one page. They are sealed with what stands for the key of a
/// file in zeroed memory: 32 zeros in the place of the secret, and 16 in that of the identity.
struct Forgery {
    static let store = StoreName("rows", .integer)

    /// The page of the attacker's database, as SQLite sees it.
    private let page: [UInt8]

    /// Makes the attacker's database, whose store is a view with one row under the key 1.
    init() throws {
        let source = try ScratchDirectory()
        let engine = try source.open()
        let rows = engine.store(Self.store)
        try engine.write { try $0.set(Array("made up".utf8).span, forKey: 1, in: rows) }
        engine.close()
        let value = try DatabasePlace.directory(source.path, codec: nil)
            .connect(readOnly: true, timeout: .seconds(1))
            .text("SELECT quote(value) FROM rows")

        let target = try ScratchDirectory()
        try Self.makePage(target.path, value)
        page = Array(try Data(contentsOf: URL(filePath: target.file)))
    }

    private static func makePage(_ directory: String, _ value: String) throws {
        let connection = try DatabasePlace.directory(directory, codec: nil)
            .connect(readOnly: false, timeout: .seconds(1))
        try connection.reserve(PageCodec.reserved)
        for statement in [
            "PRAGMA page_size = 4096", "PRAGMA journal_mode = WAL", "PRAGMA user_version = 1",
            "PRAGMA application_id = \(0x4469_766E)",
            "CREATE VIEW rows(key, value) AS SELECT 1, \(value)",
        ] {
            try connection.execute(statement)
        }
    }

    /// A log with one commit.
    func log() -> [UInt8] {
        let salts = [UInt8](repeating: 7, count: 8)
        var sums: (UInt32, UInt32) = (0, 0)
        var header = Self.numbers(0x377F_0682, 3_007_000, 4_096, 0) + salts
        Self.add(header, to: &sums)
        header += Self.numbers(Int(sums.0), Int(sums.1))
        // The page's number, and how many the database has.
        var frame = Self.numbers(1, 1)
        Self.add(frame, to: &sums)
        Self.add(page, to: &sums)
        frame += salts + Self.numbers(Int(sums.0), Int(sums.1))
        let (start, startTrailer) = Self.seal(header[...], role: 2, unit: 0)
        let (sealed, trailer) = Self.seal(page[..<4_056] + frame, role: 2, unit: 1)
        return start + startTrailer + sealed[4_056...] + sealed[..<4_056] + trailer
    }

    /// A journal that has SQLite write the page into the database file.
    func journal() -> [UInt8] {
        var plain: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]
        // One record; where its checksum begins; one page; the bytes of a sector and of a page.
        plain += Self.numbers(1, 1, 1, 512, 4_096)
        plain += [UInt8](repeating: 0, count: 512 - plain.count)
        let sum = stride(from: 4_096 - 200, to: 0, by: -200).reduce(1) { $0 + Int(page[$1]) }
        plain += Self.numbers(1) + page + Self.numbers(sum)
        return stride(from: 0, to: plain.count, by: 4_056).flatMap { start in
            let block = plain[start..<min(start + 4_056, plain.count)]
            let (sealed, trailer) = Self.seal(block, role: 3, unit: start / 4_056 + 1)
            return sealed + trailer
        }
    }

    // MARK: - Sealing without a key

    private static func seal(
        _ content: ArraySlice<UInt8>, role: UInt8, unit: Int
    ) -> (content: [UInt8], trailer: [UInt8]) {
        let epoch = [UInt8](repeating: role, count: 16)
        let number = numbers(0, unit)
        let zeros = [UInt8](repeating: 0, count: 32)
        let key = KeyDerivation.subkey(
            of: SecretBytes(copying: zeros.span),
            for: Array("divan-page-1".utf8) + [role] + epoch + [1])
        let sealed = SealingCipher(key: key).seal(
            content.span, nonce: zeros[..<4] + number, associated: zeros[..<16] + number)
        return (sealed.dropLast(16), epoch + number + sealed.suffix(16))
    }

    /// Numbers of 4 bytes, big-endian.
    private static func numbers(_ numbers: Int...) -> [UInt8] {
        numbers.flatMap { number in
            [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
        }
    }

    /// Goes on with the checksums of SQLite's log, over numbers of 4 bytes, little-endian.
    private static func add(_ bytes: [UInt8], to sums: inout (UInt32, UInt32)) {
        func number(_ at: Int) -> UInt32 {
            (0..<4).reduce(0) { $0 | UInt32(bytes[at + $1]) << (8 * UInt32($1)) }
        }
        for at in stride(from: 0, to: bytes.count, by: 8) {
            sums.0 = sums.0 &+ number(at) &+ sums.1
            sums.1 = sums.1 &+ number(at + 4) &+ sums.0
        }
    }
}
