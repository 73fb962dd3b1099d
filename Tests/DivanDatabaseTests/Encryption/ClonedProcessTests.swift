// SPDX-License-Identifier: Apache-2.0

@testable import DivanSQLite
import DivanStorage
import DivanTestChild
import DivanTestSupport
import FoundationEssentials
import Testing

#if os(Linux)

/// Two copies of one running process, which both seal what they write with the keys they had.
@Suite(.enabled(if: TestEngine.isSQLite, "Only SQLite's databases are encrypted."))
struct ClonedProcessTests {
    /// Lets a child write and go on in two copies, and returns what each of them has sealed.
    private func clones(_ word: String) throws -> (
        original: Set<SealedUnit>, copy: Set<SealedUnit>
    ) {
        let directory = try TestDirectory("clones")
        let (original, copy) = (directory.path("original"), directory.path("copy"))
        try FileManager.default.createDirectory(
            atPath: original, withIntermediateDirectories: true)
        let child = try TestChild("clone", original, copy, word)
        #expect(child.readLine() == "done")
        #expect(child.wait() == 0)
        return (
            Set(try SealedUnit.all(in: original)), Set(try SealedUnit.all(in: copy))
        )
    }

    /// Expects that no key and nonce sealed one content here and another one there.
    private func expectNothingTwice(
        _ original: Set<SealedUnit>, _ copy: Set<SealedUnit>
    ) {
        let units = original.union(copy)
        let names = Set(units.map(\.name))
        #expect(names.count == units.count, "\(units.count - names.count) nonces came twice")
    }

    @Test func `two copies of a process that know nothing of each other share no nonce`()
        async throws
    {
        let (original, copy) = try await offPool { try clones("unnoticed") }
        expectNothingTwice(original, copy)
        // They are such copies: they went on in the same epochs, and counted on from the same count.
        let (here, there) = (original.subtracting(copy), copy.subtracting(original))
        #expect(here.count >= 60 && there.count >= 60)
        #expect(Set(here.map(\.name.epoch)) == Set(there.map(\.name.epoch)))
        let counts = Set(here.map { $0.name.nonce.suffix(2) })
        #expect(there.filter { counts.contains($0.name.nonce.suffix(2)) }.count >= 60)
    }

    @Test func `the child of a fork seals in epochs of its own`() async throws {
        let (original, copy) = try await offPool { try clones("noticed") }
        expectNothingTwice(original, copy)
        let (here, there) = (original.subtracting(copy), copy.subtracting(original))
        #expect(here.count >= 60 && there.count >= 60)
        #expect(Set(here.map(\.name.epoch)).isDisjoint(with: there.map(\.name.epoch)))
    }

    @Test func `an epoch ends before its count wraps, with time, and when the clock goes back`() {
        let began: Int64 = 1_800_000_000
        #expect(!PageCodec.isEpochOver(count: 0, began: began, now: began))
        #expect(!PageCodec.isEpochOver(count: 65_535, began: began, now: began + 599))
        #expect(PageCodec.isEpochOver(count: 65_536, began: began, now: began))
        #expect(PageCodec.isEpochOver(count: 1, began: began, now: began + 600))
        #expect(PageCodec.isEpochOver(count: 1, began: began, now: began - 1))
        #expect(PageCodec.isEpochOver(count: 1, began: began, now: .max))
        #expect(PageCodec.isEpochOver(count: 1, began: .min, now: .max))
    }

    @Test func `a file that seals more units than an epoch has goes on in the next one`() throws {
        let directory = try TestDirectory("epochs")
        let path = directory.path("engine")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        var options = StorageOptions()
        options.encryptionKey = KnownKey()
        let engine = try SQLiteEngine(directory: path, options: options)
        defer { engine.close() }
        let store = engine.store(StoreName("rows", .integer))
        var epochs: Set<[UInt8]> = []
        // 257 pages each; what the log has no room for is moved to the database file.
        for round in 0..<260 {
            let value = [UInt8](repeating: UInt8(truncatingIfNeeded: round), count: 1 << 20)
            try engine.write { try $0.set(value.span, forKey: 1, in: store) }
            guard round % 10 == 9 else { continue }
            let units = try SealedUnit.all(in: path)
            #expect(Set(units.map(\.name)).count == units.count)
            epochs.formUnion(units.filter { $0.name.role == 2 }.map(\.name.epoch))
        }
        #expect(epochs.count >= 2)
        #expect(try engine.verifyStructure(progress: nil) == [])
    }
}

/// A key that is known, which is all a test needs of one.
private struct KnownKey: StorageKey {
    private let bytes: [UInt8] = Array(0..<32)

    func lend(to body: (Span<UInt8>) -> Void) { body(bytes.span) }
}

#endif
