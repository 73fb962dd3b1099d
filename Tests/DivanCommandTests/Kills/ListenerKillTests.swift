// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanListener
import DivanTestChild
import DivanTestSupport
import Foundation
import Synchronization
import Testing

@testable import DivanCommand

/// A server is killed at random moments, over and over, while clients write in every way that HTTP has.
///
/// After each kill the database is opened and compared with what the clients know: what was answered is there, whole; what was
/// sent and not answered is there whole or not at all; and a server that starts on it goes on.
///
/// Soak slices: 10.
@Suite(.timeLimit(.minutes(60))) struct ListenerKillTests {
    @Test(arguments: Keeping.allCases)
    func `whatever a client was answered is there and whole after a kill`(_ keeping: Keeping)
        async throws
    {
        let site = try KillSite(keeping)
        let rounds = Soak.rounds(test: 5, soak: 400)
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        // After a fault the clients do not know what to expect.
                        for round in rounds where site.report.isRight { try site.kill(in: round) }
                    })
            }
        }
        site.report.record()
        try site.checkRemains()
        // So many that the kills have hit requests at work, not only servers that were starting.
        #expect(site.answered > rounds.count * 5, "\(site.answered) requests were answered.")
    }
}

/// A server's databases, and the clients that write there.
///
/// State: the clients, each guarded by a mutex of its own while its thread runs, and what was found last, which one
/// thread uses.
private final class KillSite: Sendable {
    private let keeping: Keeping
    private let tool: TestTool
    private let far: Manager
    private let listener: Listener
    private let writers: [Client<KillWriter>]
    private let administrator: Client<KillAdministrator>
    private let follower: Client<KillFollower>
    private let replicator: Client<KillReplicator>
    private let found = Mutex<FoundState?>(nil)
    private let requests = Atomic(0)
    let report = KillReport()

    var answered: Int { requests.load(ordering: .relaxed) }

    init(_ keeping: Keeping) throws {
        self.keeping = keeping
        tool = try TestTool()
        far = try Manager(directory: URL(fileURLWithPath: tool.path("far")))
        var options = ListenerOptions()
        options.access = .everybodyOnLoopback
        listener = Listener(far, options)
        try listener.start()
        let url = try #require(listener.urls.first).absoluteString
        let random = SeededRandom(seed: 0)
        writers = (0..<4).map { Client(KillWriter("w\($0)", random)) }
        administrator = Client(KillAdministrator(random))
        follower = Client(KillFollower(random))
        replicator = Client(try KillReplicator(random, far, url: url))
        try FileManager.default.createDirectory(
            atPath: tool.path("data"), withIntermediateDirectories: true)
        try open(create: true).close()
    }

    deinit {
        listener.stop()
        far.close()
    }

    private var path: String { tool.path("data/notes.divan") }

    private func open(create: Bool = false) throws -> Database {
        try .forTest(at: path, create: create, keeping: keeping)
    }

    private static let variable = "DIVAN_KILL_KEY"
    private var keyOptions: [String] {
        keeping == .encrypted ? ["--encryption-key", "env:\(Self.variable)"] : []
    }
    private var environment: [String: String] {
        [Self.variable: String(repeating: "4b", count: 32)]
    }

    // MARK: - A round

    /// Starts a server, lets the clients write, and kills it.
    func kill(in round: Int) throws {
        let place = "round \(round), \(keeping), seed \(Soak.seed)"
        var random = Soak.random(round: round, salt: 0x7365_7276)
        let server = try tool.start(
            ["serve", "data", "--port", "0", "--everybody"] + keyOptions, environment: environment)
        if random.oneIn(8) {
            // One that has perhaps not begun to listen.
            usleep(UInt32(random.below(200_000)))
        } else if let port = server.address()?.port {
            try checkStart(port, place)
            try write(to: port, server, &random)
        } else {
            report.complain("The server of \(place) does not start: \(errors(of: server))")
        }
        server.process.signal(SIGKILL)
        let status = server.process.wait()
        if status != 128 + SIGKILL {
            report.complain(
                "The server of \(place) ended by itself with \(status): \(errors(of: server))")
        }
        try check(place, isVerifiedFirst: random.oneIn(4))
    }

    private func errors(of server: TestTool.Child) -> String {
        (try? String(contentsOf: server.err, encoding: .utf8)) ?? ""
    }

    /// Lets all clients write at once until the server dies, at a random moment after a random number of answers.
    private func write(to port: UInt16, _ server: TestTool.Child, _ random: inout SeededRandom)
        throws
    {
        let group = DispatchGroup()
        func run<Work>(
            _ client: Client<Work>, _ step: @escaping @Sendable (inout Work, KeptConnection) -> Bool
        ) {
            group.enter()
            Thread.detachNewThread { [self] in
                let connection = KeptConnection(port: port)
                client.work.withLock { work in
                    while step(&work, connection) { requests.add(1, ordering: .relaxed) }
                }
                group.leave()
            }
        }
        for writer in writers {
            let numbers = SeededRandom(seed: random.next())
            writer.work.withLock { $0.begin(numbers) }
            run(writer) { $0.step($1) }
        }
        let numbers = SeededRandom(seed: random.next())
        administrator.work.withLock { $0.begin(numbers) }
        follower.work.withLock { $0.begin(numbers) }
        replicator.work.withLock { $0.begin(numbers) }
        run(administrator) { $0.step($1) }
        run(follower) { $0.step($1) }
        run(replicator) { $0.step($1) }
        let wanted = requests.load(ordering: .relaxed) + random.below(80)
        eventually { requests.load(ordering: .relaxed) >= wanted || !server.process.isRunning }
        usleep(UInt32(random.below(40_000)))
        server.process.signal(SIGKILL)
        group.wait()
    }

    // MARK: - Checks

    /// What a server must answer that has started on what a kill has left.
    private func checkStart(_ port: UInt16, _ place: String) throws {
        guard let found = found.withLock({ $0 }) else { return }
        let connection = KeptConnection(port: port)
        let isPushed = replicator.work.withLock { $0.push(connection) }
        if !isPushed { report.complain("In \(place) nothing is pushed.") }
        if let problem = try replicator.work.withLock({ try $0.problemOfMirror(found) }) {
            report.complain("In \(place) \(problem).")
        }
        var question: JSONObject = [
            "selector": ["n": ["$gte": 0]], "fields": ["_id", "n"], "limit": 10_000,
        ]
        let index = administrator.work.withLock { work in
            KillAdministrator.indexes.keys.sorted().first { work.state.settings[$0] != nil }
        }
        if index == "by-n" { question["use_index"] = "by-n" }
        let answer = connection.send(KillRequest("POST", "/notes/_find", json: .object(question)))
        var numbers: [String: Int] = [:]
        for row in answer?.json["docs"]?.array ?? [] {
            numbers[row["_id"]?.string ?? ""] = row["n"]?.int64.map { Int($0) }
        }
        if numbers != found.numbers {
            report.complain("In \(place) _find differs from the documents.")
        }
    }

    /// Compares what is in the database with what the clients know.
    private func check(_ place: String, isVerifiedFirst: Bool) throws {
        if isVerifiedFirst {
            let child = try tool.start(["verify", path] + keyOptions, environment: environment)
            let result = try child.wait()
            if result.status != 0 {
                report.complain("In \(place) verify says \(result.out)\(result.err)")
            }
        }
        let database = try open()
        defer { database.close() }
        let found = try FoundState(database)
        for writer in writers {
            try writer.work.withLock { work in
                let own = try work.own(found, database)
                let problem = work.complaint ?? work.settle(own)
                if let problem { report.complain("In \(place) \(problem).") }
            }
        }
        try administrator.work.withLock { work in
            if let problem = try work.complaint ?? work.settle(database) {
                report.complain("In \(place) \(problem).")
            }
        }
        try follower.work.withLock { work in
            if let problem = try work.complaint ?? work.settle(database) {
                report.complain("In \(place) \(problem).")
            }
        }
        try replicator.work.withLock { work in
            if let problem = try work.complaint ?? work.problem(found) {
                report.complain("In \(place) \(problem).")
            }
        }
        let problems = try database.verify()
        if !problems.isEmpty { report.complain("In \(place): \(problems.prefix(3))") }
        self.found.withLock { $0 = found }
    }

    /// Checks that nothing is left of what the kills have interrupted, once the database is compacted.
    func checkRemains() throws {
        let database = try open()
        try database.compact()
        #expect(try database.unusedAttachments().files == 0)
        database.close()
        let manager = FileManager.default
        let kept = try manager.contentsOfDirectory(atPath: path)
        #expect(kept.filter { $0.hasPrefix("data-") }.count == 1)
        #expect(!kept.contains { $0.contains(".new-") }, "\(kept)")
        let data = try #require(kept.first { $0.hasPrefix("data-") })
        let incoming = path + "/\(data)/attachments/tmp"
        if manager.fileExists(atPath: incoming) {
            #expect(try manager.contentsOfDirectory(atPath: incoming).isEmpty)
        }
        // The folder for temporary files is this one.
        let others = try manager.contentsOfDirectory(atPath: tool.directory.path)
            .filter { !$0.hasPrefix("run-") && !["data", "far"].contains($0) }
        #expect(others.isEmpty, "\(others)")
        let served = try manager.contentsOfDirectory(atPath: tool.path("data"))
        #expect(served.sorted() == ["listener.json", "notes.divan"], "\(served)")
    }
}

/// A client, whose thread holds its mutex while it works.
private final class Client<Work: Sendable>: Sendable {
    let work: Mutex<Work>

    init(_ work: Work) { self.work = Mutex(work) }
}
