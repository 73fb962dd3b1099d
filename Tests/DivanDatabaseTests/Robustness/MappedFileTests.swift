// SPDX-License-Identifier: Apache-2.0

import Dispatch
import DivanLMDB
import DivanStorage
import DivanTestChild
import DivanTestSupport
import FoundationEssentials
import Synchronization
import Testing

/// Several processes look at one file of LMDB's.
@Suite struct MappedFileTests {
    private static let mapSize = 1 << 20

    /// Has other processes do what a line says while this one does something itself.
    private func processes(
        _ count: Int, at directory: TestDirectory, _ line: String, answer: String,
        while work: () throws -> Void
    ) throws {
        let children = try (0..<count).map { _ in
            try TestChild("mapped", directory.path, "\(Self.mapSize)")
        }
        for child in children { #expect(child.readLine() == "ready") }
        for child in children { try child.say(line) }
        try work()
        for child in children { #expect(child.readLine() == answer) }
        for child in children { #expect(child.finish() == 0) }
    }

    @Test func `readers and writers go on when another process has outgrown their map`()
        async throws
    {
        let directory = try TestDirectory("map")
        try await offPool {
            let engine = try LMDBEngine(directory: directory.path, firstMapSize: Self.mapSize)
            defer { engine.close() }
            let rows = engine.store(MappedRows.name)
            try MappedRows.grow(engine, by: 10)
            let child = try TestChild("mapped", directory.path, "\(Self.mapSize)")
            #expect(child.readLine() == "ready")
            // A reader first, which meets pages beyond its map's end.
            #expect(try child.ask("grow 500") == "grown")
            #expect(try engine.diskSize() > 4 * Self.mapSize)
            #expect(try engine.read { try $0.count(of: rows) } == 510)
            // A writer first.
            #expect(try child.ask("grow 2000") == "grown")
            try engine.write { try $0.set([1].span, forKey: -1, in: rows) }
            #expect(try engine.read { try $0.count(of: rows) } == 2_511)
            // And the other way round, while the child keeps its map.
            try MappedRows.grow(engine, by: 4_000)
            #expect(try child.ask("count") == "6511")
            #expect(try child.ask("grow 10") == "grown")
            #expect(try engine.verifyStructure(progress: nil) == [])
            #expect(child.finish() == 0)
        }
    }

    @Test func `a reader that stays keeps its snapshot while the file outgrows its map`()
        async throws
    {
        let directory = try TestDirectory("map-stay")
        try await offPool {
            let engine = try LMDBEngine(directory: directory.path, firstMapSize: Self.mapSize)
            defer { engine.close() }
            let rows = engine.store(MappedRows.name)
            try MappedRows.grow(engine, by: 10)
            let child = try TestChild("mapped", directory.path, "\(Self.mapSize)")
            #expect(child.readLine() == "ready")
            //     this process          a thread of it           child
            //     reads, and stays                               grows the file beyond the map
            //                           writes: waits
            //     sees ten rows still
            //     ends
            //                           maps anew and writes
            let group = DispatchGroup()
            let isWritten = Atomic(false)
            try engine.read { (reader: any StorageReader) throws -> Void in
                #expect(try reader.count(of: rows) == 10)
                #expect(try child.ask("grow 1000") == "grown")
                DispatchQueue.global().async(group: group) {
                    do {
                        try engine.write { try $0.set([1].span, forKey: -1, in: rows) }
                        isWritten.store(true, ordering: .releasing)
                    } catch { Issue.record("\(error)") }
                }
                #expect(group.wait(timeout: .now() + .milliseconds(300)) == .timedOut)
                #expect(try reader.count(of: rows) == 10)
                #expect(try MappedRows.oddity(engine) == nil)
            }
            #expect(group.wait(timeout: .now() + 60) == .success)
            let hasWritten = isWritten.load(ordering: .acquiring)
            #expect(hasWritten)
            #expect(try engine.read { try $0.count(of: rows) } == 1_011)
            #expect(child.finish() == 0)
        }
    }

    @Test func `readers of several processes beside a writer see whole transactions`()
        async throws
    {
        let directory = try TestDirectory("map-readers")
        try await offPool {
            let engine = try LMDBEngine(directory: directory.path, firstMapSize: Self.mapSize)
            defer { engine.close() }
            try MappedRows.grow(engine, by: 10)
            let times = Soak.count(test: 6_000, soak: 200_000)
            try processes(4, at: directory, "watch \(times)", answer: "watched") {
                try MappedRows.rewrite(engine, times: times / 10)
            }
            // Pages that no reader looks at are used again, so the file has stayed small beside the 100 kB and
            // more that each rewriting takes. A reader that a busy machine lets wait keeps some of them.
            #expect(try engine.diskSize() < max(32 << 20, times / 10 * 100_000 / 20))
            #expect(try engine.verifyStructure(progress: nil) == [])
        }
    }

    @Test func `a file is opened anew while another process makes it larger`() async throws {
        let directory = try TestDirectory("map-reopened")
        try await offPool {
            let engine = try LMDBEngine(directory: directory.path, firstMapSize: Self.mapSize)
            defer { engine.close() }
            try MappedRows.grow(engine, by: 10)
            let times = Soak.count(test: 100, soak: 3_000)
            try processes(3, at: directory, "reopen \(times)", answer: "reopened") {
                try MappedRows.grow(engine, by: 10 * times)
            }
        }
    }

    @Test
    func `a file is opened and read while another process writes, and writing waits its time`()
        async throws
    {
        let directory = try TestDirectory("map-written")
        try await offPool {
            let child = try TestChild("mapped", directory.path, "\(Self.mapSize)")
            #expect(child.readLine() == "ready")
            #expect(try child.ask("grow 10") == "grown")
            #expect(try child.ask("write") == "writing")
            var options = StorageOptions()
            options.busyTimeout = .milliseconds(20)
            let opening = Running { [options] in
                try LMDBEngine(directory: directory.path, options: options)
            }
            // Where it waits for the writer it never ends; then the writer is let go, so that the test does.
            let isOpened = opening.isDone(within: 20_000)
            #expect(isOpened)
            guard isOpened else { return child.kill() }
            let engine = try #require(try opening.value())
            defer { engine.close() }
            let rows = engine.store(MappedRows.name)
            #expect(try engine.read { try $0.count(of: rows) } == 10)
            do {
                try engine.write { try $0.set([1].span, forKey: -2, in: rows) }
                Issue.record("It wrote beside the other process.")
            } catch let error as StorageError { #expect(error.code == .busy) }
            #expect(try child.ask("commit") == "committed")
            try engine.write { try $0.set([1].span, forKey: -2, in: rows) }
            #expect(try engine.read { try $0.count(of: rows) } == 12)
            #expect(child.finish() == 0)
        }
    }

    @Test func `a reader that died with its process keeps no page for long`() async throws {
        let directory = try TestDirectory("map-stale")
        try await offPool {
            let engine = try LMDBEngine(directory: directory.path)
            try MappedRows.grow(engine, by: 10)
            let child = try TestChild("mapped", directory.path, "\(Self.mapSize)")
            #expect(child.readLine() == "ready")
            #expect(try child.ask("hold") == "held 10")
            // While it lives, nothing that it may see is used again.
            let before = try engine.diskSize()
            try MappedRows.rewrite(engine, times: 40)
            let grown = try engine.diskSize()
            #expect(grown > before + 30 * 100_000)
            child.kill()
            #expect(child.wait() == -9)
            // Its place is cleared when a file is opened, among others.
            engine.close()
            let again = try LMDBEngine(directory: directory.path)
            defer { again.close() }
            try MappedRows.rewrite(again, times: 200)
            #expect(try again.diskSize() < grown + 10 * 100_000)
            #expect(try again.compact(progress: nil) > 20 * 100_000)
            #expect(try again.diskSize() < before + 100_000)
            #expect(try again.verifyStructure(progress: nil) == [])
        }
    }
}
