// SPDX-License-Identifier: Apache-2.0

import DivanModel
import Testing

@testable import DivanReplication

/// When a replication tries again, and what it remembers of documents that failed.
@Suite struct RetryCountTests {
    private static func policy(longest: Int = 600) -> RetryPolicy {
        var policy = RetryPolicy()
        policy.longestDelay = .seconds(longest)
        return policy
    }

    private let lost = ReplicationError(.unreachable, "It is gone.", isTransient: true)
    private let ofDocument = ReplicationError(
        .server, "It fails.", documentID: "a", isTransient: true)

    private func delays(
        _ retries: RetryCount, _ runs: [RetryCount.Run], _ error: ReplicationError
    ) -> [Duration?] {
        var retries = retries
        return runs.map { retries.fail(error, after: $0, random: 1) }
    }

    @Test func `what was only compared again is no progress, and a one-shot run gives up`() {
        let retries = RetryCount(Self.policy(), isContinuous: false)
        let runs = [RetryCount.Run](repeating: RetryCount.Run(), count: 6)
        #expect(
            delays(retries, runs, ofDocument)
                == [.seconds(2), .seconds(4), .seconds(8), .seconds(16), nil, nil])
    }

    @Test func `progress makes the wait short again`() {
        let retries = RetryCount(Self.policy(), isContinuous: false)
        let moved = RetryCount.Run(hasMoved: true)
        let still = RetryCount.Run()
        #expect(
            delays(retries, [still, still, still, moved, still, still, still, still], lost)
                == [
                    .seconds(2), .seconds(4), .seconds(8), .seconds(2), .seconds(4), .seconds(8),
                    .seconds(16), nil,
                ])
    }

    @Test func `to wait for changes is progress when it lasts as long as the wait before it`() {
        let retries = RetryCount(Self.policy(longest: 20), isContinuous: true)
        let brief = RetryCount.Run(idle: .milliseconds(10))
        let long = RetryCount.Run(idle: .seconds(60))
        #expect(
            delays(retries, [brief, brief, brief, long, long, brief], lost)
                == [
                    .seconds(2), .seconds(4), .seconds(8), .seconds(2), .seconds(2), .seconds(4),
                ])
    }

    @Test func `one document that fails holds up the others for a minute at most`() {
        let runs = [RetryCount.Run](repeating: RetryCount.Run(), count: 20)
        let continuous = RetryCount(Self.policy(), isContinuous: true)
        #expect(delays(continuous, runs, ofDocument).last == .seconds(60))
        #expect(delays(continuous, runs, lost).last == .seconds(600))
    }

    @Test(
        arguments: [
            (nil, 2), (0, 2), (-5, 2), (7, 7), (3_600, 3_600), (86_400, 3_600), (1e300, 3_600),
            (.infinity, 3_600), (.nan, 2),
        ] as [(Double?, Int)])
    func `a server is left alone as long as it asks, and no longer than an hour`(
        asked: Double?, seconds: Int
    ) {
        var error = lost
        error.retryAfter = asked
        var retries = RetryCount(Self.policy(), isContinuous: true)
        #expect(
            retries.fail(error, after: RetryCount.Run(), random: 1) == .seconds(seconds))
    }

    @Test func `what is wrong for good is tried again now and then, or not at all`() {
        let refused = ReplicationError(.unauthorized, "Who are you?", status: 401)
        var continuous = RetryCount(Self.policy(), isContinuous: true)
        #expect(continuous.fail(refused, after: .init(), random: 0) == .seconds(30))
        var once = RetryCount(Self.policy(), isContinuous: false)
        #expect(once.fail(refused, after: .init(hasMoved: true), random: 0) == nil)
        continuous.forget()
        #expect(continuous.failures == 0)
    }

    // MARK: - Giving up

    @Test func `a one-shot run begins no try later than its patience after the first failure`() {
        let start = ContinuousClock.now
        var retries = RetryCount(Self.policy(), isContinuous: false)
        // Runs that take a minute each until they fail.
        let delays = (0..<5).map { run in
            retries.fail(lost, after: .init(), random: 1, now: start + .seconds(74 * run))
        }
        #expect(delays == [.seconds(2), .seconds(4), .seconds(8), .seconds(16), nil])
        var slow = RetryCount(Self.policy(), isContinuous: false)
        #expect(slow.fail(lost, after: .init(), random: 1, now: start) == .seconds(2))
        #expect(slow.fail(lost, after: .init(), random: 1, now: start + .seconds(297)) == nil)
        #expect(
            slow.givingUp(lost, now: start + .seconds(297)).message
                == "The replication gave up after 2 tries in 4 min 57 s: It is gone.")
        // Progress begins both limits anew.
        var moving = RetryCount(Self.policy(), isContinuous: false)
        for run in 0..<100 {
            let delay = moving.fail(
                lost, after: .init(hasMoved: true), random: 1, now: start + .seconds(74 * run))
            #expect(delay == .seconds(2))
        }
        var policy = Self.policy()
        policy.patience = nil
        var patient = RetryCount(policy, isContinuous: false)
        #expect(patient.fail(lost, after: .init(), random: 1, now: start) == .seconds(2))
        #expect(
            patient.fail(lost, after: .init(), random: 1, now: start + .seconds(9_000))
                == .seconds(4))
    }

    @Test func `a one-shot run does not wait for what is asked beyond its patience`() {
        var error = lost
        error.retryAfter = 86_400
        var once = RetryCount(Self.policy(), isContinuous: false)
        #expect(once.fail(error, after: .init(), random: 1) == nil)
        #expect(
            once.givingUp(error).message
                == "The replication gave up after 1 try, while the other end asks to be left alone for 1 h: "
                + "It is gone.")
        error.retryAfter = 7
        var patient = RetryCount(Self.policy(), isContinuous: false)
        #expect(patient.fail(error, after: .init(), random: 1) == .seconds(7))
        var continuous = RetryCount(Self.policy(), isContinuous: true)
        error.retryAfter = 86_400
        #expect(continuous.fail(error, after: .init(), random: 1) == .seconds(3_600))
    }

    // MARK: - Errors of documents

    private func report(_ id: String, _ revision: String, _ error: ReplicationError? = nil) throws
        -> ReplicationEngine.Report
    {
        ReplicationEngine.Report(
            id: try DocumentID(validating: id), revision: try RevisionID(validating: revision),
            error: error)
    }

    private static func failure(isTransient: Bool) -> ReplicationError {
        ReplicationError(.server, "It fails.", isTransient: isTransient)
    }

    @Test func `a document that comes leaves no error behind, and others do`() throws {
        var errors = DocumentErrors()
        #expect(!errors.take(try report("x", "1-a")))
        for id in ["a", "b", "c"] {
            #expect(errors.take(try report(id, "2-a", Self.failure(isTransient: false))))
        }
        #expect(errors.newest?.documentID == "c")
        // Another leaf is not the one that failed; one that may descend from it is.
        #expect(!errors.take(try report("c", "2-b")))
        #expect(errors.take(try report("c", "3-a")))
        #expect(errors.newest?.documentID == "b")
        #expect(errors.take(try report("b", "2-a")))
        errors.beginRun()
        errors.settle()
        #expect(errors.newest?.documentID == "a")
        #expect(errors.take(try report("a", "2-a")))
        #expect(errors.newest == nil)
    }

    @Test func `an error for now that the next run does not tell again is gone`() throws {
        var errors = DocumentErrors()
        for id in ["a", "b"] {
            _ = errors.take(try report(id, "1-a", Self.failure(isTransient: true)))
        }
        errors.settle()
        #expect(errors.newest?.documentID == "b")
        errors.beginRun()
        _ = errors.take(try report("a", "1-a", Self.failure(isTransient: true)))
        errors.settle()
        #expect(errors.newest?.documentID == "a")
        errors.beginRun()
        errors.settle()
        #expect(errors.newest == nil)
    }

    @Test func `a million documents that fail cost the memory of a thousand`() throws {
        var errors = DocumentErrors()
        for number in 0..<3_000 {
            _ = errors.take(try report("d\(number)", "1-a", Self.failure(isTransient: false)))
        }
        #expect(errors.count == 1_000)
        #expect(errors.newest?.documentID == "d2999")
    }
}
