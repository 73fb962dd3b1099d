// SPDX-License-Identifier: Apache-2.0

import BenchmarkInput
import Dispatch
import Divan
import DivanListener
import Foundation
import Synchronization

/// Replication and the listener, both ends in one process, over loopback.
///
/// What the listener costs is the process's CPU time without that of the thread that asks.
extension DivanWork {
    /// Runs a workload of the wire by name; nil when it is none.
    func runWireWork(_ work: String, on database: Database) throws -> Timing? {
        guard Self.replications.contains(work) || Self.requests.contains(work) else { return nil }
        let remote = try Remote(beside: directory, storageEngine)
        defer { remote.stop() }
        return Self.requests.contains(work)
            ? try serve(work, remote) : try replicate(work, database, remote)
    }

    private static let replications: Set = [
        "pull", "push", "resync", "checkpoint_lost", "edit_latency", "attachment_pull",
        "attachment_push", "pull_attachments", "push_attachments",
    ]
    private static let requests: Set = [
        "listener_get", "listener_get_awake", "listener_get_many", "listener_bulk_docs",
        "listener_changes", "idle_longpolls",
    ]

    private func replicate(_ work: String, _ database: Database, _ remote: Remote) throws -> Timing
    {
        let pull = database.makePullReplication(from: remote.url)
        let push = database.makePushReplication(to: remote.url)
        switch work {
        case "pull":
            try fill(remote.database)
            return try measuring { try Self.run(pull, at: database) }
        case "push":
            try fill(database)
            return try measuring { try Self.run(push, at: remote.database) }
        case "pull_attachments":
            try fill(remote.database, attachmentSize: Self.attachmentSize)
            return try measuring { try Self.run(pull, at: database) }
        case "push_attachments":
            try fill(database, attachmentSize: Self.attachmentSize)
            return try measuring { try Self.run(push, at: remote.database) }
        case "resync":
            _ = try Self.run(push, at: remote.database)
            return try measuring {
                for _ in 0..<operations { _ = try Self.run(push, at: remote.database) }
                return try remote.database.documentCount
            }
        case "checkpoint_lost":
            _ = try Self.run(push, at: remote.database)
            let again = database.makePushReplication(to: remote.url) {
                $0.customProperties = ["reset": true]
            }
            return try measuring { try Self.run(again, at: remote.database) }
        case "attachment_pull": return try attachment(from: remote.database, by: pull, to: database)
        case "attachment_push": return try attachment(from: database, by: push, to: remote.database)
        default: return try editLatency(database, remote)
        }
    }

    private func serve(_ work: String, _ remote: Remote) throws -> Timing {
        if work == "idle_longpolls" { return try idleLongpolls(remote) }
        if work != "listener_bulk_docs" { try fill(remote.database) }
        if work == "listener_get_many" {
            let clients = try (0..<8).map { _ in try LoopbackClient(port: remote.port) }
            return try measuringOthers { try askInTurn(clients) }
        }
        let client = try LoopbackClient(
            port: remote.port, staysAwake: work == "listener_get_awake")
        return try measuringOthers { try ask(work, client) }
    }

    /// The attachment of each document, of bytes that do not compress.
    private static let attachmentSize = 10_240

    /// Fills a database; each document gets an attachment of so many bytes, or none.
    private func fill(_ database: Database, attachmentSize: Int? = nil) throws {
        var numbers = SeededNumbers(seed: 3)
        for start in stride(from: 0, to: operations, by: 1_000) {
            try database.write { transaction in
                for index in start..<min(start + 1_000, operations) {
                    let document = try input.withText(index) {
                        try MutableDocument(json: $0, id: input.documentID(index))
                    }
                    if let attachmentSize {
                        let bytes = (0..<attachmentSize).map { _ in UInt8(numbers.next(below: 256))
                        }
                        document.setAttachment(
                            named: "a", contentType: "application/octet-stream", .bytes(bytes))
                    }
                    try transaction.save(document)
                }
            }
        }
    }

    /// Runs a replication to its end; how many documents the target has.
    private static func run(_ replication: Replication, at target: Database) throws -> Int {
        let done = DispatchSemaphore(value: 0)
        replication.start()
        Task {
            await replication.waitUntilEnded()
            done.signal()
        }
        done.wait()
        if let error = replication.lastError { throw error }
        return try target.documentCount
    }

    /// One large attachment goes over; the figure is in bytes.
    private func attachment(
        from source: Database, by replication: Replication, to target: Database
    ) throws -> Timing {
        let document = MutableDocument(id: "film")
        document.setAttachment(named: "a", contentType: nil, .file(try makeFile(size: 1 << 30)))
        try source.save(document)
        var timing = try measuring { try Self.run(replication, at: target) }
        guard try target.document(withID: "film")?.attachment(named: "a")?.length == 1 << 30
        else { throw CocoaError(.fileReadUnknown) }
        timing.units = 1 << 30
        return timing
    }

    // MARK: - Latency

    /// Edits one by one with a continuous push: how long each takes to be seen at the other end.
    private func editLatency(_ database: Database, _ remote: Remote) throws -> Timing {
        let arrived = DispatchSemaphore(value: 0)
        let token = try remote.database.addChangeListener { _ in arrived.signal() }
        let push = database.push(to: remote.url) { $0.isContinuous = true }
        defer { push.stop() }
        while push.activity != .idle { usleep(1_000) }
        var latencies = Latencies()
        var timing = try measuring {
            for index in 0..<operations {
                let start = ContinuousClock.now
                try database.save(MutableDocument(["n": .integer(Int64(index))], id: "e\(index)"))
                while try !remote.database.contains("e\(index)") { arrived.wait() }
                latencies.add(.now - start)
                // Edits of a person, not of a loop.
                usleep(5_000)
            }
            return try remote.database.documentCount
        }
        token.remove()
        timing.latencies = latencies
        return timing
    }

    // MARK: - The listener alone

    private func ask(_ work: String, _ client: LoopbackClient) throws -> Int {
        var bytes = 0
        switch work {
        case "listener_get", "listener_get_awake":
            for index in 0..<operations {
                bytes += try client.get("/notes/\(input.id(index))")
            }
        case "listener_changes":
            bytes += try client.get("/notes/_changes?style=all_docs")
        default:
            for start in stride(from: 0, to: operations, by: 1_000) {
                var body = Array("{\"docs\":[".utf8)
                for index in start..<min(start + 1_000, operations) {
                    if index > start { body.append(UInt8(ascii: ",")) }
                    body += Array("{\"_id\":\"\(input.id(index))\",".utf8)
                    body += input.withText(index) { text in
                        (1..<text.count).map { text[$0] }
                    }
                }
                bytes += try client.post("/notes/_bulk_docs", body + Array("]}".utf8))
            }
        }
        return bytes
    }

    /// Gets documents on several connections, so that the listener always has something to do: what a
    /// GET costs without falling asleep and waking up for each.
    private func askInTurn(_ clients: [LoopbackClient]) throws -> Int {
        var bytes = 0
        var asked = 0
        var answered = 0
        while answered < operations {
            while asked < operations, asked < answered + clients.count {
                try clients[asked % clients.count].ask("/notes/\(input.id(asked))")
                asked += 1
            }
            bytes += try clients[answered % clients.count].readAnswer()
            answered += 1
        }
        return bytes
    }

    /// Feeds that wait: the memory is what all of them take; their clients hold a socket each.
    private func idleLongpolls(_ remote: Remote) throws -> Timing {
        // Each feed has two sockets here.
        var files = rlimit(rlim_cur: 65_536, rlim_max: 65_536)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files)
        var clients: [LoopbackClient] = []
        let before = Self.anonymousMemory()
        var grown = 0
        var timing = try measuring {
            for _ in 0..<operations {
                let client = try LoopbackClient(port: remote.port, room: 512)
                try client.write(
                    "GET /notes/_changes?feed=longpoll&heartbeat=60000&since=now HTTP/1.1\r\n"
                        + "Host: localhost\r\n\r\n")
                clients.append(client)
            }
            for client in clients { try client.skipHead() }
            sleep(1)
            grown = Self.anonymousMemory() - before
            return grown / operations
        }
        timing.memory = grown
        return timing
    }

    private static func anonymousMemory() -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon") }
        return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 1_024
    }
}

/// A listener with one database, `notes`, that is kept by the same engine as the other end.
private final class Remote {
    let manager: Manager
    let database: Database
    private let listener: Listener

    init(beside directory: URL, _ engine: StorageEngineFactory) throws {
        manager = try Manager(
            directory: directory.deletingLastPathComponent().appending(path: "remote"))
        manager.defaultStorageEngine = engine
        database = try manager.database(named: "notes")
        var options = ListenerOptions()
        options.access = .everybodyOnLoopback
        // All clients of a benchmark come from one address.
        options.limits.connectionsPerAddress = options.limits.connections
        listener = Listener(manager, options)
        try listener.start()
    }

    var port: UInt16 { listener.port ?? 0 }
    var url: String { "http://127.0.0.1:\(port)/notes" }

    func stop() {
        listener.stop()
        manager.close()
    }
}
