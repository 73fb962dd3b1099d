// SPDX-License-Identifier: Apache-2.0

@testable import DivanLMDB
import Dispatch
import DivanStorage
import DivanStorageConformance
import DivanTestSupport
import Foundation
import Synchronization
import Testing

/// Readers beside writers, and what compaction does while there are any.
@Suite struct LMDBEngineReaderTests {
    private let scratch: ScratchDirectory

    init() throws {
        scratch = try ScratchDirectory()
    }

    @Test func `a reader does not wait for a writer, nor a writer for a reader`() throws {
        let engine = try scratch.open()
        defer { engine.close() }
        let store = try fill(engine, 10)
        let isWriting = DispatchSemaphore(value: 0)
        let hasRead = DispatchSemaphore(value: 0)
        let isDone = DispatchSemaphore(value: 0)
        DispatchQueue.global().async {
            try? engine.write { (writer: any StorageWriter) throws -> Void in
                try writer.set([1].span, forKey: 100, in: store)
                isWriting.signal()
                // It ends only after another thread has read beside it.
                _ = hasRead.wait(timeout: .now() + 60)
            }
            isDone.signal()
        }
        isWriting.wait()
        try engine.read { (reader: any StorageReader) throws -> Void in
            #expect(try reader.count(of: store) == 10)
            hasRead.signal()
            // The commit comes through while this reads on.
            #expect(isDone.wait(timeout: .now() + 60) == .success)
            #expect(try reader.count(of: store) == 10)
        }
        #expect(try engine.read { try $0.count(of: store) } == 11)
    }

    @Test func `compaction waits for nobody: beside a reader it leaves the file alone`() throws {
        let engine = try scratch.open()
        defer { engine.close() }
        let store = try fill(engine, 50_000)
        try engine.write { try $0.removeAll(in: store) }
        try engine.read { (reader: any StorageReader) throws -> Void in
            _ = try reader.count(of: store)
            #expect(try engine.compact(progress: nil) == 0)
        }
        #expect(try engine.compact(progress: nil) > 1 << 20)
        #expect(try engine.verifyStructure(progress: nil) == [])
    }

    @Test func `readers go on through a compaction`() throws {
        let engine = try scratch.open()
        defer { engine.close() }
        let store = try fill(engine, 50_000)
        try engine.write { (writer: any StorageWriter) throws -> Void in
            for number in 0..<45_000 { _ = try writer.remove(key: Int64(number), in: store) }
        }
        let isOver = Atomic(false)
        let failures = Mutex<[String]>([])
        let group = DispatchGroup()
        for _ in 0..<3 {
            DispatchQueue.global().async(group: group) {
                while !isOver.load(ordering: .acquiring) {
                    do {
                        let count = try engine.read { try $0.count(of: store) }
                        if count != 5_000 { failures.withLock { $0.append("\(count) rows") } }
                    } catch { failures.withLock { $0.append("\(error)") } }
                }
            }
        }
        let reclaimed = try engine.compact(progress: nil)
        isOver.store(true, ordering: .releasing)
        group.wait()
        #expect(failures.withLock { $0 } == [])
        #expect(reclaimed > 1 << 20)
        #expect(try engine.read { try $0.count(of: store) } == 5_000)
    }

    @Test func `an interrupted read says so, and the next one runs`() throws {
        let engine = try scratch.open()
        defer { engine.close() }
        let store = try fill(engine, 100)
        #expect(
            StorageError.Code.thrown {
                try engine.read { (reader: any StorageReader) throws -> Void in
                    let cursor = try reader.cursor(in: store)
                    var found = try cursor.seekToFirst()
                    engine.interrupt()
                    while found { found = try cursor.next() }
                }
            } == .interrupted)
        #expect(try engine.read { try $0.count(of: store) } == 100)
    }

    @Test func `suspending an engine does not stop the reads of another one on the same file`()
        throws
    {
        let (engine, other) = (try scratch.open(), try scratch.open())
        defer { engine.close() }
        defer { other.close() }
        let store = try fill(engine, 100)
        try engine.read { (reader: any StorageReader) throws -> Void in
            let cursor = try reader.cursor(in: store)
            var found = try cursor.seekToFirst()
            #expect(try Running { try other.suspend() }.value() != nil)
            while found { found = try cursor.next() }
        }
        #expect(StorageError.Code.thrown { try other.read { _ in } } == .suspended)
    }
}
