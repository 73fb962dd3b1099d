// SPDX-License-Identifier: Apache-2.0

import CFaultVFS
import DivanSQLite
import DivanStorage
import DivanStorageConformance
import DivanTestSupport
import Testing

#if canImport(Glibc)
import Glibc
#else
import Musl
#endif

/// How the file is mapped for reading, while it is written to.
@Suite struct SQLiteEngineMappingTests {
    private static let name = StoreName("rows", .integer)

    /// Where the file is mapped, by what the system says of this process.
    private func mappings(of file: String) throws -> Set<UInt> {
        Set(try MappedRegion.all(ofFile: file).map(\.range.lowerBound))
    }

    private func write(
        _ numbers: Range<Int>, _ engine: SQLiteEngine, _ store: Store
    ) throws {
        try engine.write { writer in
            for number in numbers {
                let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 400)
                try writer.set(bytes.span, forKey: Int64(number), in: store)
            }
        }
    }

    /// The first byte of a row.
    private func first(_ number: Int, _ engine: SQLiteEngine, _ store: Store) throws -> UInt8? {
        var first: UInt8?
        try engine.read { reader in
            _ = try reader.withValue(forKey: Int64(number), in: store) { first = $0[0] }
        }
        return first
    }

    @Test(.enabled(if: Machine.has("/proc/self/maps"), "It needs /proc."))
    func `a read after a write finds the file mapped where it was`() throws {
        // While a test records, another file system is in place, which does not keep the mapping.
        try PowerLossRecorder.alone { try readBesideWrites() }
    }

    private func readBesideWrites() throws {
        let scratch = try ScratchDirectory()
        let filled = try scratch.open()
        try write(0..<1_000, filled, filled.store(Self.name))
        filled.close()
        let engine = try scratch.open()
        defer { engine.close() }
        let store = engine.store(Self.name)
        let before = try belowRoom {
            #expect(try first(500, engine, store) == 244)
            return try mappings(of: scratch.file)
        }
        #expect(!before.isEmpty)
        for number in 0..<20 {
            try write(number..<number + 1, engine, store)
            #expect(try first(500, engine, store) == 244)
            #expect(try mappings(of: scratch.file).isSuperset(of: before))
        }
    }

    /// Runs `work` while the place where the system would map next is taken. A file that loses its mapping afterwards
    /// is mapped there, and not where it was.
    private func belowRoom<Result>(_ work: () throws -> Result) throws -> Result {
        let size = 1 << 20
        // SAFETY: the room is never looked at, and unmapped once, as long as it was mapped.
        let room = unsafe mmap(nil, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        defer { unsafe munmap(room, size) }
        unsafe try #require(room != MAP_FAILED)
        return try work()
    }

    @Test func `nothing is read behind the end of a file that another connection cuts`() throws {
        try PowerLossRecorder.alone {
            let scratch = try ScratchDirectory()
            // It makes the file system known to SQLite.
            try scratch.open().close()
            let path = scratch.file + "-cut"
            #expect(path.withCString { unsafe divan_cut_file_check($0, "divan-files") } == 0)
        }
    }

    @Test func `readers see a file that grows, shrinks and grows again, in two connections`() throws
    {
        let scratch = try ScratchDirectory()
        let engine = try scratch.open()
        let other = try scratch.open()
        defer {
            engine.close()
            other.close()
        }
        let (store, otherStore) = (engine.store(Self.name), other.store(Self.name))
        for round in 0..<3 {
            let count = [500, 20_000, 5_000][round]
            for start in stride(from: 0, to: count, by: 500) {
                try write(start..<start + 500, engine, store)
                for number in [start, start + 499, 0] {
                    #expect(try first(number, other, otherStore) == UInt8(number & 0xFF))
                    #expect(try first(number, engine, store) == UInt8(number & 0xFF))
                }
            }
            try engine.write { try $0.removeAll(in: store) }
            _ = try engine.compact { _ in }
            #expect(try first(0, other, otherStore) == nil)
            #expect(try first(0, engine, store) == nil)
        }
    }
}
