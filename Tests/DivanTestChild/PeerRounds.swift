// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Divan
import DivanHTTP
import DivanTestSupport
import FoundationEssentials

/// Conversations with a server that lies, one after the other, beside replications that must not notice.
///
///     round 17
///     round 18
///     …
///     done 104320 kB
///
/// A process that dies names the round by its last line, and `peers 17 18 SEED` repeats it. The last line tells the most
/// memory that the process ever had.
struct PeerRounds {
    /// How long a conversation may take, and then how long it may take to stop.
    private static let patience = 5
    private static let longest = 30

    private let rounds: Range<Int>
    private let seed: UInt64
    private let left: Database
    private let right: Database

    init(_ arguments: [String]) throws {
        let (from, to): (Int, Int) = (try arguments.number(0), try arguments.number(1))
        guard from <= to else { throw WrongArguments() }
        rounds = from..<to
        seed = try arguments.number(2)
        left = try Database.inMemory(named: "left")
        right = try Database.inMemory(named: "right")
    }

    func run() throws {
        let server = try LyingServer(seed: seed).start()
        let (push, pull) = left.sync(with: right)
        for round in rounds {
            Report.say("round \(round)")
            try converse(round, "http://127.0.0.1:\(server.port)/\(round)")
            if round % 50 == 0 {
                try checkNeighbours(round, "http://127.0.0.1:\(server.port)/\(LyingServer.good)")
            }
        }
        push.stop()
        pull.stop()
        server.stop()
        Report.say("done \(Self.peakMemory) kB")
    }

    /// One conversation, which may fail, and must end.
    private func converse(_ round: Int, _ url: String) throws {
        let here = try Database.inMemory(named: "here")
        try fill(here)
        let kind = round % 8
        let isPush = kind == 2 || kind == 5
        let settings = settings(kind)
        let replication =
            isPush
            ? here.makePushReplication(to: url, settings: settings)
            : here.makePullReplication(from: url, settings: settings)
        let done = DispatchSemaphore(value: 0)
        Task.detached {
            // What a liar brings about is an error or a success; either is right.
            _ = try? await replication.run()
            done.signal()
        }
        // A continuous one goes on until it is stopped.
        let isContinuous = settings.isContinuous
        let patience =
            isContinuous ? DispatchTimeInterval.milliseconds(60) : .seconds(Self.patience)
        if done.wait(timeout: .now() + patience) == .timedOut {
            guard replication.stops(within: Self.longest, done) else {
                Report.trouble("round \(round): the replication does not stop.")
            }
        }
        let problems = try here.verify()
        guard problems.isEmpty else { Report.trouble("round \(round): \(problems)") }
        guard try here.document(withID: "mine")?["n"].int == 1 else {
            Report.trouble("round \(round): a document of this database is gone.")
        }
    }

    private func fill(_ here: Database) throws {
        try here.save(MutableDocument(["n": 1], id: "mine"))
        let attached = MutableDocument(["n": 2], id: "attached here")
        attached.setAttachment(
            named: "b.txt", contentType: "text/plain", .bytes(Array("hello".utf8)))
        try here.save(attached)
    }

    private func settings(_ kind: Int) -> ReplicationConfiguration {
        var settings = ReplicationConfiguration()
        settings.retry.firstDelay = .milliseconds(1)
        settings.retry.longestDelay = .milliseconds(2)
        settings.retry.maximumAttempts = 2
        settings.timeouts.head = .seconds(1)
        settings.timeouts.silence = .seconds(1)
        settings.isContinuous = (3...5).contains(kind)
        settings.changesFeed = kind == 3 ? .longpoll : .continuous
        settings.downloadsAttachments = kind != 6
        settings.documentIDs = kind == 7 ? ["plain", "attached"] : []
        return settings
    }

    /// A replication between two databases here, and one with an honest server, go on as ever.
    private func checkNeighbours(_ round: Int, _ url: String) throws {
        let arrived = DispatchSemaphore(value: 0)
        let token = try right.addDocumentChangeListener(for: "n\(round)") { _ in arrived.signal() }
        try left.save(MutableDocument(id: "n\(round)"))
        guard arrived.wait(timeout: .now() + .seconds(Self.longest)) == .success else {
            Report.trouble("round \(round): a replication beside it stands still.")
        }
        token.remove()
        let here = try Database.inMemory(named: "honest")
        let pull = here.makePullReplication(from: url)
        let done = DispatchSemaphore(value: 0)
        Task.detached {
            do { try await pull.run() } catch { Report.trouble("round \(round): \(error)") }
            done.signal()
        }
        guard done.wait(timeout: .now() + .seconds(Self.longest)) == .success,
            try here.documentCount == 3
        else {
            Report.trouble("round \(round): an honest server is not replicated whole.")
        }
    }

    private static var peakMemory: Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        return status.firstMatch(of: /VmHWM:\s+(\d+)/).flatMap { Int($0.1) } ?? 0
    }
}

extension Replication {
    /// Stops it, and waits until it has ended. On a busy machine its task may not have begun yet, and then there is nothing to
    /// stop: so it is told again.
    func stops(within seconds: Int, _ done: DispatchSemaphore) -> Bool {
        for _ in 0..<(seconds * 10) {
            stop()
            if done.wait(timeout: .now() + .milliseconds(100)) == .success { return true }
        }
        return false
    }
}
