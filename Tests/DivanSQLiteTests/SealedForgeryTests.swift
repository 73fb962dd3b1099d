// SPDX-License-Identifier: Apache-2.0

import DivanSQLite
import DivanStorage
import DivanTestSupport
import Foundation
import Testing

/// Sealed databases to which an attacker without the key has brought files of their own making.
///
/// A database file that is too short to say which file it is gives the codec no secret to open with.
@Suite struct SealedForgeryTests {
    /// Up to the identity, which ends at 16, and up to the end of the first page.
    static let sizes = Array(1...16) + [4_095]

    /// The values that are read of the attacker's row in two openings, of which the first may change the files.
    private func shown(_ path: String, creates: Bool) throws -> [[UInt8]] {
        var options = StorageOptions.sealed()
        options.createsIfMissing = creates
        var found: [[UInt8]] = []
        for _ in 1...2 {
            do {
                let engine = try SQLiteEngine(directory: path, options: options)
                defer { engine.close() }
                let rows = engine.store(Forgery.store)
                if let value = try engine.read({ try $0.value(forKey: 1, in: rows) }) {
                    found.append(value)
                }
            } catch let error as StorageError {
                #expect(error.code == .corrupted, "\(error)")
            }
        }
        return found
    }

    /// Lays a forged file beside the beginning of a database file, and reads.
    private func expectNothing(of forged: [UInt8], _ suffix: String, size: Int) throws {
        let source = try ScratchDirectory()
        let engine = try source.openSealed()
        let rows = engine.store(Forgery.store)
        try engine.write { try $0.set([1, 2, 3].span, forKey: 2, in: rows) }
        engine.close()
        let genuine = try Data(contentsOf: URL(filePath: source.file))
        for beginning in [genuine.prefix(size), Data(repeating: 0x78, count: size)] {
            for creates in [false, true] {
                let scratch = try ScratchDirectory()
                try Data(beginning).write(to: URL(filePath: scratch.file))
                try Data(forged).write(to: URL(filePath: scratch.file + suffix))
                let found = try shown(scratch.path, creates: creates)
                #expect(found == [], "\(Array(beginning.prefix(16))), creates: \(creates)")
            }
        }
    }

    @Test(arguments: sizes)
    func `a log made without the key shows nothing, however short the database file is`(
        _ size: Int
    ) throws {
        try expectNothing(of: Forgery().log(), "-wal", size: size)
    }

    @Test(arguments: sizes)
    func `a journal made without the key is not played back, however short the database file is`(
        _ size: Int
    ) throws {
        try expectNothing(of: Forgery().journal(), "-journal", size: size)
    }
}
