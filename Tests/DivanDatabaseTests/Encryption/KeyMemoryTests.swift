// SPDX-License-Identifier: Apache-2.0

@testable import DivanDatabase
import DivanJSON
internal import DivanModel
import DivanPlatform
import DivanSystem
import DivanTestSupport
import FoundationEssentials
import Testing

#if canImport(Glibc)
import Glibc

/// Keys in the memory of this process, looked for in all of it.
@Suite(
    .serialized, .disabled(if: Sanitizer.isOn, "too much memory is reserved to look through it"),
    .enabled(if: TestEngine.isSQLite, "Only SQLite's databases are encrypted.")
)
struct KeyMemoryTests {
    private let sandbox = Sandbox()

    @Test func `no key is left in memory once a database is closed`() throws {
        let user = MaskedBytes.random()
        let other = MaskedBytes.random()
        var data: MaskedBytes?
        try useDatabase(user, other) { data = $0 }
        #expect(try MemorySearch.count(of: user) == 0, "the user's key")
        #expect(try MemorySearch.count(of: other) == 0, "the changed key")
        #expect(try MemorySearch.count(of: #require(data)) == 0, "the key of the data")
    }

    @inline(never)
    private func useDatabase(
        _ user: MaskedBytes, _ other: MaskedBytes, _ found: (MaskedBytes) -> Void
    ) throws {
        var options = DatabaseOptions()
        options.create = true
        options.encryptionKey = try user.key()
        let database = try Database.open(at: sandbox.url(), options: options)
        defer { database.close() }
        let document = MutableDocument(["n": 1], id: "d")
        document.setAttachment(named: "a", contentType: nil, .bytes(Sample.bytes(100_000)))
        try database.save(document)
        #expect(try database.existing("d").attachment(named: "a")?.content().count == 100_000)
        try database.changeEncryptionKey(to: try other.key())
        let dataKey = try #require(database.core.options.dataKey)
        let masked = dataKey.secret.withBytes { MaskedBytes($0) }
        found(masked)
        // The search finds what is there.
        #expect(try MemorySearch.count(of: user) > 0)
        #expect(try MemorySearch.count(of: masked) > 0)
    }
}

/// Bytes that do not themselves lie in memory as they are.
private struct MaskedBytes {
    private let masked: [UInt8]

    init(_ bytes: Span<UInt8>) {
        var masked: [UInt8] = []
        for index in bytes.indices { masked.append(bytes[index] ^ 0xA5) }
        self.masked = masked
    }

    private init(masked: [UInt8]) { self.masked = masked }

    static func random() -> MaskedBytes {
        MaskedBytes(masked: (0..<32).map { _ in UInt8.random(in: 0...255) })
    }

    var count: Int { masked.count }

    func unmask(into target: UnsafeMutablePointer<UInt8>) {
        for index in masked.indices { target[index] = masked[index] ^ 0xA5 }
    }

    /// A key of the bytes, whose array is wiped.
    @inline(never)
    func key() throws -> EncryptionKey {
        var bytes = [UInt8](repeating: 0, count: masked.count)
        defer { bytes.withUnsafeMutableBytes { explicit_bzero($0.baseAddress!, $0.count) } }
        bytes.withUnsafeMutableBufferPointer { unmask(into: $0.baseAddress!) }
        return try EncryptionKey(rawBytes: bytes)
    }
}

/// Looks through all memory that this process can write to.
private enum MemorySearch {
    private static let pieceSize = 1 << 20

    static func count(of masked: MaskedBytes) throws -> Int {
        let needle = UnsafeMutablePointer<UInt8>.allocate(capacity: masked.count)
        let piece = UnsafeMutableRawPointer.allocate(byteCount: pieceSize, alignment: 4_096)
        masked.unmask(into: needle)
        defer {
            explicit_bzero(needle, masked.count)
            explicit_bzero(piece, pieceSize)
            needle.deallocate()
            piece.deallocate()
        }
        let own = [
            UInt(bitPattern: needle)..<UInt(bitPattern: needle) + UInt(masked.count),
            UInt(bitPattern: piece)..<UInt(bitPattern: piece) + UInt(pieceSize),
        ]
        let memory = open("/proc/self/mem", O_RDONLY)
        defer { close(memory) }
        try #require(memory >= 0)
        var found = 0
        let regions = MappedRegion.all().filter(\.isWritable)
        try #require(!regions.isEmpty)
        for range in regions.map(\.range) {
            var start = range.lowerBound
            while start < range.upperBound {
                let wanted = min(pieceSize, Int(range.upperBound - start))
                let got = pread(memory, piece, wanted, off_t(start))
                guard got > masked.count else { break }
                var from = 0
                while let hit = find(needle, masked.count, in: piece + from, got - from) {
                    let offset = hit - piece
                    let address = start + UInt(offset)
                    if !own.contains(where: { $0.contains(address) }) { found += 1 }
                    from = offset + 1
                }
                // A piece overlaps the one before it, so that nothing is missed between two.
                start += UInt(got < wanted || got <= masked.count ? got : got - masked.count + 1)
                if wanted <= masked.count { break }
                if start + UInt(masked.count) > range.upperBound { break }
            }
        }
        return found
    }

    /// memmem(3), which is no part of the standard that Glibc shows.
    private static func find(
        _ needle: UnsafeMutablePointer<UInt8>, _ count: Int, in start: UnsafeMutableRawPointer,
        _ size: Int
    ) -> UnsafeMutableRawPointer? {
        var at = start
        let end = start + size
        while end - at >= count,
            let hit = memchr(at, Int32(needle[0]), end - at - count + 1)
        {
            if memcmp(hit, needle, count) == 0 { return hit }
            at = hit + 1
        }
        return nil
    }
}
#endif
