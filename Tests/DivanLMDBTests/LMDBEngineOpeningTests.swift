// SPDX-License-Identifier: Apache-2.0

@testable import DivanLMDB
import Dispatch
import DivanStorage
import DivanStorageConformance
import DivanTestSupport
import Foundation
import Synchronization
import Testing

/// How a file of LMDB's is opened, refused, mapped and shared.
@Suite struct LMDBEngineOpeningTests {
    private let scratch: ScratchDirectory

    init() throws {
        scratch = try ScratchDirectory()
    }

    @Test func `a missing or emptied file is damage unless it may be made`() throws {
        #expect(
            StorageError.Code.thrown { _ = try scratch.open { $0.createsIfMissing = false } }
                == .corrupted)
        #expect(
            StorageError.Code.thrown { _ = try scratch.open { $0.isReadOnly = true } } == .notFound)
        _ = try fill(scratch.open(), 10)
        try write([], to: scratch.file)
        #expect(
            StorageError.Code.thrown { _ = try scratch.open { $0.createsIfMissing = false } }
                == .corrupted)
    }

    @Test func `a key is refused, and nothing is written in its place`() throws {
        struct Key: StorageKey {
            func lend(to body: (Span<UInt8>) -> Void) {
                body([UInt8](repeating: 1, count: 32).span)
            }
        }
        let path = try scratch.makeDirectory() + "/new"
        var options = StorageOptions()
        options.encryptionKey = Key()
        #expect(
            StorageError.Code.thrown { _ = try LMDBEngine(directory: path, options: options) }
                == .unsupported)
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func `the lock file has all its room on the disk before it is mapped`() throws {
        func room() -> (taken: Int, length: Int) {
            var status = stat()
            guard stat(scratch.file + "-lock", &status) == 0 else { return (-1, 0) }
            return (Int(status.st_blocks) * 512, Int(status.st_size))
        }
        try scratch.open().close()
        let made = room()
        #expect(made.length > 0 && made.taken >= made.length)
        // As a release that did not see to it has left the file, or a copy that makes holes of zeros.
        let file = open(scratch.file + "-lock", O_RDWR)
        defer { close(file) }
        #expect(ftruncate(file, 0) == 0 && ftruncate(file, off_t(made.length)) == 0)
        #expect(room().taken == 0)
        try scratch.open { $0.isReadOnly = true }.close()
        #expect(room() == made)
    }

    @Test func `a file of something else is refused`() throws {
        try write([UInt8](repeating: 120, count: 20_000), to: scratch.file)
        #expect(StorageError.Code.thrown { _ = try scratch.open() } == .corrupted)
        try write([1, 2, 3], to: scratch.file)
        #expect(StorageError.Code.thrown { _ = try scratch.open() } == .corrupted)
    }

    @Test func `a file that was cut short is refused wherever it was cut`() throws {
        let engine = try scratch.open()
        _ = try fill(engine, 3_000)
        engine.close()
        let whole = try contents(of: scratch.file)
        #expect(whole.count > 300_000)
        for length in stride(from: 1, to: whole.count, by: 12_345) {
            try write(Array(whole[..<length]), to: scratch.file)
            #expect(
                StorageError.Code.thrown { _ = try scratch.open() } == .corrupted, "at \(length)")
        }
        try write(whole, to: scratch.file)
        let again = try scratch.open()
        defer { again.close() }
        #expect(try again.verifyStructure(progress: nil) == [])
    }

    /// Leaves a sound file with 100 rows that is shorter than the number of its last page says, as a process does
    /// that dies at its commit.
    ///
    /// - Returns: The length that the file says, and the one that it has.
    private func makeShort() throws -> (said: Int, there: Int) {
        let engine = try scratch.open()
        let rows = try fill(engine, 100)
        let large = [UInt8](repeating: 1, count: 9_000)
        // The third time there are unused pages in the file, and LMDB keeps those of the end for later
        // instead of writing them.
        for count in [200, 300, 400] {
            try engine.write { (writer: any StorageWriter) throws -> Void in
                for number in 1_000..<Int64(1_000 + count) {
                    try writer.set(large.span, forKey: number, in: rows)
                }
                for number in 1_000..<Int64(1_000 + count) {
                    #expect(try writer.remove(key: number, in: rows))
                }
            }
            #expect(try engine.verifyStructure(progress: nil) == [])
        }
        engine.close()
        let whole = try contents(of: scratch.file)
        let end = (whole.lastIndex { $0 != 0 } ?? 0) / 4_096 * 4_096 + 4_096
        #expect(end < whole.count)
        #expect(truncate(scratch.file, off_t(end)) == 0)
        return (whole.count, end)
    }

    @Test func `pages given up where they were taken leave a file that is whole`() throws {
        let (said, _) = try makeShort()
        let engine = try scratch.open()
        defer { engine.close() }
        let rows = engine.store(StoreName("rows", .integer))
        #expect(try engine.read { try $0.count(of: rows) } == 100)
        try engine.write { try $0.set([1].span, forKey: 1, in: rows) }
        #expect(try engine.diskSize() == said)
        _ = try fill(engine, 3_000)
        #expect(try engine.verifyStructure(progress: nil) == [])
    }

    @Test func `only the process whose turn it is to write changes the length of the file`() throws
    {
        let (_, there) = try makeShort()
        // The turn of another process, which may have made the file longer after any look at it.
        let turn = try #require(LockFile(scratch.file + "-writer", readOnly: false))
        #expect(turn.lock(exclusive: true, timeout: .zero))
        let engine = try scratch.open { $0.busyTimeout = .milliseconds(20) }
        defer { engine.close() }
        #expect(try engine.diskSize() == there)
        let rows = engine.store(StoreName("rows", .integer))
        #expect(
            StorageError.Code.thrown {
                try engine.write { try $0.set([1].span, forKey: 1, in: rows) }
            } == .busy)
        #expect(try engine.diskSize() == there)
        #expect(StorageError.Code.thrown { _ = try engine.compact(progress: nil) } == .busy)
        #expect(try engine.diskSize() == there)
        turn.unlock()
        try engine.write { try $0.set([1].span, forKey: 1, in: rows) }
        #expect(try engine.diskSize() > there)
    }

    @Test func `a file cut short while it is open is refused before the next write`() throws {
        let engine = try scratch.open()
        defer { engine.close() }
        let store = try fill(engine, 3_000)
        let size = try engine.diskSize()
        #expect(truncate(scratch.file, off_t(size / 2)) == 0)
        #expect(
            StorageError.Code.thrown {
                try engine.write { try $0.set([1].span, forKey: 1, in: store) }
            } == .corrupted)
    }

    @Test func `a file that was moved away is not written any more`() throws {
        let engine = try scratch.open()
        defer { engine.close() }
        let store = try fill(engine, 10)
        try FileManager.default.moveItem(atPath: scratch.file, toPath: scratch.file + ".away")
        #expect(
            StorageError.Code.thrown {
                try engine.write { try $0.set([1].span, forKey: 1, in: store) }
            } == .io)
        #expect(try engine.read { try $0.count(of: store) } == 10)
    }

    @Test func `the map grows with the file`() throws {
        let engine = try scratch.open(mapSize: 1 << 20)
        defer { engine.close() }
        let before = engine.environment.mapSize
        let store = engine.store(StoreName("rows", .integer))
        let value = [UInt8](repeating: 1, count: 10_000)
        for batch in 0..<60 {
            try engine.write { writer in
                for row in 0..<10 {
                    try writer.set(value.span, forKey: Int64(batch * 10 + row), in: store)
                }
            }
        }
        #expect(engine.environment.mapSize > 4 * before)
        #expect(try engine.read { try $0.count(of: store) } == 600)
        #expect(try engine.verifyStructure(progress: nil) == [])
    }

    @Test func `a transaction too large for the map is undone, and the next one fits`() throws {
        let engine = try scratch.open(mapSize: 1 << 20)
        defer { engine.close() }
        let store = try fill(engine, 10)
        let value = [UInt8](repeating: 1, count: 4 << 20)
        #expect(
            StorageError.Code.thrown {
                try engine.write { try $0.set(value.span, forKey: 100, in: store) }
            } == .full)
        #expect(try engine.read { try $0.count(of: store) } == 10)
        try engine.write { try $0.set([1].span, forKey: 11, in: store) }
        #expect(try engine.read { try $0.count(of: store) } == 11)
    }

    @Test func `a transaction of several times the map fits when it is tried again`() throws {
        let engine = try scratch.open(mapSize: 1 << 20)
        defer { engine.close() }
        let store = try fill(engine, 10)
        let value = [UInt8](repeating: 1, count: 4 << 20)
        func write() throws { try engine.write { try $0.set(value.span, forKey: 100, in: store) } }
        #expect(StorageError.Code.thrown { try write() } == .full)
        try write()
        #expect(try engine.read { try $0.count(of: store) } == 11)
    }

    @Test func `a file whose map has no address space to grow into is written all the same`() throws
    {
        // A large part of all addresses.
        let engine = try scratch.open(mapSize: 1 << 46)
        defer { engine.close() }
        for count in 1...4 {
            engine.environment.isMapTooSmall.store(true, ordering: .relaxed)
            let store = try fill(engine, count)
            #expect(try engine.read { try $0.count(of: store) } == count)
        }
    }

    @Test func `a new file is made in the writers' turn`() throws {
        let turn = try #require(LockFile(scratch.file + "-writer", readOnly: false))
        #expect(turn.lock(exclusive: true, timeout: .zero))
        func open() throws { try scratch.open { $0.busyTimeout = .milliseconds(20) }.close() }
        #expect(StorageError.Code.thrown { try open() } == .busy)
        turn.unlock()
        try open()
    }

    @Test(arguments: ["-users", "-writer"])
    func `without its lock files a file is not opened for writing`(_ suffix: String) throws {
        try scratch.open().close()
        try FileManager.default.removeItem(atPath: scratch.file + suffix)
        // What even the superuser cannot open.
        try FileManager.default.createSymbolicLink(
            atPath: scratch.file + suffix, withDestinationPath: "missing/" + suffix)
        #expect(StorageError.Code.thrown { _ = try scratch.open() } == .io)
        let reader = try scratch.open { $0.isReadOnly = true }
        defer { reader.close() }
        #expect(try reader.read { try $0.storeNames() }.isEmpty)
    }

    @Test func `a file that waits to be opened keeps no other one from it`() async throws {
        let other = try scratch.makeDirectory()
        // As another process holds it that replaces the file.
        let users = try #require(LockFile(scratch.file + "-users", readOnly: false))
        #expect(users.lock(exclusive: true, timeout: .zero))
        let waiting = Running { [scratch] in
            try scratch.open { $0.busyTimeout = .seconds(60) }.close()
            return true
        }
        // The lock file of the writer is made just before the wait.
        let writer = scratch.file + "-writer"
        await eventually { FileManager.default.fileExists(atPath: writer) }
        let opening = Running {
            try LMDBEngine(directory: other).close()
            return true
        }
        #expect(opening.isDone(within: 20_000))
        users.unlock()
        #expect(try waiting.value() == true)
    }

    @Test func `two engines on a directory share one environment`() throws {
        let first = try scratch.open()
        let second = try scratch.open()
        #expect(first.environment === second.environment)
        let store = try fill(first, 10)
        first.close()
        #expect(try second.read { try $0.count(of: store) } == 10)
        second.close()
        let third = try scratch.open()
        #expect(third.environment !== first.environment)
        third.close()
    }

    @Test func `an engine closed inside a read closes when that ends, and can be opened again`()
        throws
    {
        let engine = try scratch.open()
        let store = try fill(engine, 10)
        try engine.read { (reader: any StorageReader) throws -> Void in
            engine.close()
            #expect(try reader.count(of: store) == 10)
            let again = try scratch.open()
            #expect(again.environment === engine.environment)
            again.close()
        }
        let again = try scratch.open()
        defer { again.close() }
        #expect(again.environment !== engine.environment)
        #expect(try again.read { try $0.count(of: again.store(StoreName("rows", .integer))) } == 10)
    }

    @Test func `a file that is closed later keeps nobody from opening another meanwhile`() throws {
        let engine = try scratch.open()
        let other = try scratch.makeDirectory()
        let store = try fill(engine, 10)
        let isRefused = DispatchSemaphore(value: 0)
        try engine.write { (writer: any StorageWriter) throws -> Void in
            engine.close()
            // The reader finds the engine closed. It must leave closing the file to this write.
            DispatchQueue(label: "reader").async {
                let code = StorageError.Code.thrown { try engine.read { _ in } }
                if code == .closed { isRefused.signal() }
            }
            #expect(isRefused.wait(timeout: .now() + 60) == .success)
            let another = try LMDBEngine(directory: other)
            another.close()
            try writer.set([1].span, forKey: 100, in: store)
        }
        let again = try scratch.open()
        defer { again.close() }
        #expect(again.environment !== engine.environment)
        #expect(try again.read { try $0.count(of: again.store(StoreName("rows", .integer))) } == 11)
    }

    @Test func `a read on a closed engine is refused and leaves nothing behind`() throws {
        weak var environment: LMDBEnvironment?
        do {
            let engine = try scratch.open()
            let store = try fill(engine, 10)
            #expect(try engine.read { try $0.count(of: store) } == 10)
            environment = engine.environment
            #expect(environment?.readers.count == 1)
            engine.close()
            for _ in 0..<3 {
                #expect(
                    StorageError.Code.thrown { _ = try engine.read { try $0.count(of: store) } }
                        == .closed)
                #expect(
                    StorageError.Code.thrown {
                        try engine.copy(to: scratch.makeDirectory(), progress: nil)
                    } == .closed)
            }
            #expect(environment?.readers.count == 0)
        }
        #expect(environment == nil)
    }

    @Test func `a transaction that somebody still refers to does not outlive its file`() throws {
        let engine = try scratch.open()
        _ = try fill(engine, 10)
        // As a thread does between giving it back and letting go of it.
        var held: LMDBTransaction?
        try engine.withSnapshot { held = $0 }
        #expect(held?.isKept == true)
        engine.close()
        #expect(held?.isKept == false)
        // The file is not mapped any more, so that ending it now would stop the process.
        held = nil
        let again = try scratch.open()
        defer { again.close() }
        #expect(try again.read { try $0.count(of: again.store(StoreName("rows", .integer))) } == 10)
    }

    @Test func `readers of an engine that is opened or closed read all of it or nothing`() throws {
        let first = try scratch.open()
        _ = try fill(first, 10)
        first.close()
        let isOver = Atomic(false)
        let engines = Handover()
        let odd = Mutex<[String]>([])
        let group = DispatchGroup()
        for _ in 0..<3 {
            DispatchQueue.global().async(group: group) {
                while !isOver.load(ordering: .acquiring) {
                    guard let engine = engines.engine else { continue }
                    do {
                        let rows = engine.store(StoreName("rows", .integer))
                        let count = try engine.read { try $0.count(of: rows) }
                        if count != 10 { odd.withLock { $0.append("\(count) rows") } }
                    } catch let error as StorageError where error.code == .closed {
                    } catch { odd.withLock { $0.append("\(error)") } }
                }
            }
        }
        for _ in 0..<300 {
            let engine = try scratch.open()
            engines.engine = engine
            #expect(try engine.read { try $0.storeNames() }.count == 1)
            engine.close()
        }
        isOver.store(true, ordering: .releasing)
        group.wait()
        #expect(odd.withLock { $0 } == [])
    }

    @Test func `an unchanging database is read without a trace`() throws {
        let engine = try scratch.open()
        _ = try fill(engine, 10)
        engine.close()
        for name in try FileManager.default.contentsOfDirectory(atPath: scratch.path)
        where name != "main.mdb" {
            try FileManager.default.removeItem(atPath: scratch.path + "/" + name)
        }
        let reader = try scratch.open {
            $0.isReadOnly = true
            $0.isUnchanging = true
        }
        defer { reader.close() }
        let store = reader.store(StoreName("rows", .integer))
        #expect(try reader.read { try $0.count(of: store) } == 10)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: scratch.path) == ["main.mdb"])
        #expect(
            StorageError.Code.thrown {
                try reader.write { try $0.set([1].span, forKey: 1, in: store) }
            } == .readOnly)
    }
}

/// Hands an engine to other threads by a lock that the thread sanitizer sees, which a `Mutex` is not.
///
/// State: the engine, guarded by the lock.
private final class Handover: @unchecked Sendable {
    private let lock = NSLock()
    private var current: LMDBEngine?

    var engine: LMDBEngine? {
        get { lock.withLock { current } }
        set { lock.withLock { current = newValue } }
    }
}
