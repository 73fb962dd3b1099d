// SPDX-License-Identifier: Apache-2.0

import Dispatch
@testable import DivanLMDB
import DivanStorage
import DivanSystem
import DivanTestSupport
import Testing

/// Pauses of the pool, in which no thread looks at the mapped file.
@Suite(.timeLimit(.minutes(10))) struct LMDBReaderPoolTests {
    private let engine: LMDBEngine
    private let scratch: ScratchDirectory

    init() throws {
        scratch = try ScratchDirectory()
        engine = try scratch.open()
    }

    /// Reads on a thread of its own, which waits inside the read for `end`; signals `ended` after it.
    private func read(
        _ begun: DispatchSemaphore, until end: DispatchSemaphore, _ ended: DispatchSemaphore
    ) {
        let engine = engine
        DispatchQueue.global().async {
            do {
                try engine.read { _ in
                    begun.signal()
                    end.wait()
                }
            } catch { Issue.record(error) }
            ended.signal()
        }
    }

    @Test func `readers that come during a pause read after it`() throws {
        defer { engine.close() }
        let pool = engine.environment.readers
        let (begun, end, ended) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )
        #expect(pool.pause(patience: .zero))
        for _ in 0..<4 { read(begun, until: end, ended) }
        #expect(poll(every: .milliseconds(1), for: .seconds(60)) { pool.heldCount == 4 })
        #expect(begun.wait(timeout: .now()) == .timedOut, "none reads in the pause")
        #expect(!pool.pause(patience: .zero), "it is paused already")
        pool.resume()
        for _ in 0..<4 {
            #expect(begun.wait(timeout: .now() + 60) == .success)
            end.signal()
        }
        for _ in 0..<4 { #expect(ended.wait(timeout: .now() + 60) == .success) }
        #expect(!pool.isUsed)
    }

    @Test func `a pause waits for the reader that runs, and is given up when it stays`() throws {
        defer { engine.close() }
        let pool = engine.environment.readers
        let (begun, end, ended) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )
        // A pause that no reader wakes would take its whole patience each time.
        for _ in 0..<20 {
            read(begun, until: end, ended)
            #expect(begun.wait(timeout: .now() + 60) == .success)
            #expect(!pool.pause(patience: .milliseconds(2)))
            end.signal()
            #expect(pool.pause(patience: .seconds(60)))
            #expect(!pool.isUsed)
            pool.resume()
            #expect(ended.wait(timeout: .now() + 60) == .success)
        }
    }

    @Test func `a thread that reads cannot pause the pool`() throws {
        defer { engine.close() }
        let pool = engine.environment.readers
        try engine.read { _ in #expect(!pool.pause(patience: .seconds(60))) }
        #expect(pool.pause(patience: .zero))
        pool.resume()
    }
}
