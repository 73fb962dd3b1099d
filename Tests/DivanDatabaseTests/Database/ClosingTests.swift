// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Divan
import DivanTestSupport
import Testing

@testable import DivanDatabase

/// Closing while others are at work in ways that could make it wait for itself.
@Suite(.timeLimit(.minutes(10))) struct ClosingTests {
    private let sandbox = Sandbox()

    @Test func `the last reference may go on the writer's queue`() async throws {
        for round in 0..<50 {
            let done = Gate()
            weak var weakDatabase: Database?
            do {
                let database = try sandbox.database("round\(round)")
                weakDatabase = database
                // The test does not wait for this task, so what lets go last is a matter of luck.
                Task.detached {
                    _ = try? database.inBatch { try database.create("a") }
                    done.open()
                }
            }
            await eventually { done.isOpen && weakDatabase == nil }
        }
    }

    @Test func `closing does not wait for a read that waits for a batch`() async throws {
        //     reader                     writer              closer
        //     read: waits for the batch
        //                                                    close: takes the writer's turn,
        //                                                           then waits for the reader
        //                                batch: refused
        //     goes on                                        goes on
        let database = try sandbox.database()
        try database.create("a")
        let (reading, mayWrite, hasWritten) = (Gate(), Gate(), Gate())
        let reader = Running {
            try database.read { transaction in
                reading.open()
                hasWritten.wait()
                return try transaction.contains("a")
            }
        }
        await reading.passed()
        let closer = Running { database.close() }
        let writer = Running {
            mayWrite.wait()
            defer { hasWritten.open() }
            return code { try database.create("b") }
        }
        await eventually { database.core.isClosed }
        mayWrite.open()
        #expect(try writer.value() == .databaseClosed)
        #expect(try reader.value() == true)
        _ = try closer.value()
    }
}
