// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Foundation
import Synchronization
import Testing

/// Indexes that are built while documents change.
struct IndexingBesideWritersTests {
    private static let documents = 3_000

    private let sandbox = Sandbox()

    @Test func `no document is missing from a new index because it changes while that is built`()
        async throws
    {
        let database = try sandbox.database()
        defer { database.close() }
        try save(0..<Self.documents, in: database)
        let counts = try await offPool {
            let isDone = Atomic(false)
            let writing = DispatchSemaphore(value: 0)
            let failure = Mutex<(any Error)?>(nil)
            Thread.detachNewThread {
                defer { writing.signal() }
                var random = DivanTestSupport.SeededRandom(seed: 0x1DE0)
                do {
                    while !isDone.load(ordering: .relaxed) {
                        let start = random.below(Self.documents - 5)
                        try save(start..<start + 5, in: database)
                        // Slower than any machine indexes: who writes faster is not caught up with.
                        Thread.sleep(forTimeInterval: 0.002)
                    }
                } catch { failure.withLock { $0 = error } }
            }
            defer {
                isDone.store(true, ordering: .relaxed)
                writing.wait()
            }
            return try (0..<Soak.count(test: 20, soak: 500)).map { number in
                let view = database.view(named: "view \(number)")
                view.setMap(version: "1") { document, emit in emit(document["n"], nil) }
                defer { try? view.delete() }
                return Set(try view.query().run().map(\.documentID)).count
            }
        }
        #expect(counts.allSatisfy { $0 == Self.documents }, "\(counts)")
    }

    private func save(_ numbers: Range<Int>, in database: Database) throws {
        try database.inBatch {
            for number in numbers {
                let document =
                    try database.document(withID: "\(number)")?.toMutable()
                    ?? MutableDocument(id: "\(number)")
                document.set(document.int(forKey: "n") + 1, forKey: "n")
                try database.save(document)
            }
        }
    }
}
