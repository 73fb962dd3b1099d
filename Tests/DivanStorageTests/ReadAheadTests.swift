// SPDX-License-Identifier: Apache-2.0

import CReadAhead
import DivanTestSupport
import Foundation
import Testing

/// How pages of a mapped file are brought near before they are read.
@Suite(.serialized) struct ReadAheadTests {
    private static let pageSize = Int(DIVAN_READ_AHEAD_PAGE)

    /// Maps a file that has just been written, so that the process's page table has none of it.
    private func withMapping(
        _ pages: Int, cutTo left: Int? = nil, _ body: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        let directory = try ScratchDirectory()
        let path = directory.path + "/pages"
        try Data(repeating: 7, count: pages * Self.pageSize).write(to: URL(fileURLWithPath: path))
        let file = open(path, O_RDONLY)
        defer { close(file) }
        let length = pages * Self.pageSize
        let start = try #require(mmap(nil, length, PROT_READ, MAP_SHARED, file, 0))
        try #require(start != MAP_FAILED)
        defer { munmap(start, length) }
        if let left { try #require(truncate(path, off_t(left * Self.pageSize)) == 0) }
        try body(UnsafeRawBufferPointer(start: start, count: length))
    }

    /// The pages, of those given, that are in the process's page table: bit 63 of each entry says so.
    private func present(_ bytes: UnsafeRawBufferPointer, _ pages: Range<Int>) throws -> Set<Int> {
        let file = open("/proc/self/pagemap", O_RDONLY)
        try #require(file >= 0)
        defer { close(file) }
        var entries = [UInt64](repeating: 0, count: pages.count)
        let first = Int(bitPattern: bytes.baseAddress) / Self.pageSize + pages.lowerBound
        let count = entries.withUnsafeMutableBytes {
            pread(file, $0.baseAddress, $0.count, off_t(first * 8))
        }
        try #require(count == pages.count * 8)
        return Set(pages.filter { entries[$0 - pages.lowerBound] >> 63 == 1 })
    }

    /// Looks at pages, told ahead or not, and returns those that the page table has then.
    private func present(
        after pages: some Sequence<Int>, tells: Bool = true, end: Int? = nil, of count: Int = 1_024
    ) throws -> Set<Int> {
        var found: Set<Int> = []
        try withMapping(count) { bytes in
            var ahead = divan_read_ahead()
            var sum = 0
            let start = try #require(bytes.baseAddress)
            for page in pages {
                let address = start + page * Self.pageSize
                if tells {
                    divan_read_ahead_at(
                        &ahead, address,
                        end.map { UInt(bitPattern: start + $0 * Self.pageSize) } ?? 0)
                }
                sum &+= Int(address.load(as: UInt8.self))
            }
            #expect(sum > 0)
            found = try present(bytes, 0..<count)
        }
        return found
    }

    // The system enters up to 16 pages around one that is looked at, by itself.

    @Test func `pages that are read in order are entered many at once`() throws {
        for step in [1, 3] {
            let order = (0..<6).map { 100 + $0 * step }
            let alone = try present(after: order, tells: false)
            #expect(alone.allSatisfy { (80..<140).contains($0) }, "\(alone.sorted())")
            let told = try present(after: order)
            let ahead = (100...(100 + 60)).filter(told.contains)
            #expect(ahead.count == 61, "\(told.sorted())")
            #expect(told.allSatisfy { $0 < 200 }, "and no more: \(told.sorted())")
        }
    }

    @Test func `a step back to a page nearby ends no run`() throws {
        let told = try present(after: [100, 101, 90, 102, 103, 91, 104, 105])
        #expect(told.isSuperset(of: 100..<160), "\(told.sorted())")
        let other = try present(after: [100, 101, 102, 700, 103, 104, 105])
        #expect(!other.contains(150), "a page far away ends it: \(other.sorted())")
    }

    @Test func `single pages and short runs enter nothing else`() throws {
        let order = (0..<10).flatMap { run in [0, 1, 2, 3].map { run * 100 + $0 } }
        let told = try present(after: order)
        let beyond = told.filter { (32..<80).contains($0 % 100) }
        #expect(beyond.isEmpty, "\(beyond.sorted())")
    }

    @Test func `nothing behind the end is entered`() throws {
        let told = try present(after: 0..<32, end: 32)
        #expect(told.isSuperset(of: 0..<32) && !told.contains(48), "\(told.sorted())")
    }

    @Test func `a file that was cut is no harm`() throws {
        try withMapping(256, cutTo: 20) { bytes in
            var ahead = divan_read_ahead()
            let start = try #require(bytes.baseAddress)
            for page in 0..<20 {
                divan_read_ahead_at(&ahead, start + page * Self.pageSize, 0)
                #expect((start + page * Self.pageSize).load(as: UInt8.self) == 7)
            }
        }
    }
}
