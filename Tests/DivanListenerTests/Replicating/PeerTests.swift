// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Divan
import DivanHTTP
import DivanJSON
import DivanReplication
import DivanTestSupport
import Foundation
import Synchronization
import Testing

@testable import DivanListener

/// Two apps without a server between: a listener at one end, a replication at the other.
@Suite(.timeLimit(.minutes(10))) struct PeerTests {
    private let site: TestSite
    private let there: Database
    private let here: Database

    init() throws {
        site = try TestSite()
        there = try site.manager.database(named: "notes")
        here = try Database.inMemory(named: "here")
    }

    private func url(_ listener: Listener) throws -> URL { try #require(listener.url(of: there)) }

    /// Documents of all kinds: plain, edited, deleted, in conflict, with attachments.
    private func fill(_ database: Database, _ count: Int) throws {
        try database.inBatch {
            for n in 0..<count {
                let id: DocumentID = "d\(n)"
                let first = try database.put(id, ["n": .integer(Int64(n))], parent: nil).revisionID
                switch n % 10 {
                case 1: try database.put(id, ["n": -1], parent: first)
                case 2: try database.delete(id)
                case 3:
                    try database.put(id, ["n": -1], parent: first)
                    try database.put(id, ["n": -2], parent: first, options: .allowConflict)
                case 4:
                    let edited = try database.document(withID: id)?.toMutable()
                    edited?.setAttachment(
                        named: "a \u{e9}/b", contentType: "x/y",
                        .bytes([UInt8](repeating: UInt8(n % 251), count: n * 3)))
                    if let edited { try database.save(edited) }
                default: break
                }
            }
        }
    }

    /// Every leaf of the documents that are not deleted, with its body and its attachments.
    private func contents(_ database: Database) throws -> Set<String> {
        let rows = try database.changes().changes.filter { !$0.isDeleted }.flatMap { change in
            try database.leafRevisions(of: change.id).map { leaf in
                let attachments = try leaf.attachments.map {
                    "\($0.name) \(try $0.content().count)"
                }
                return "\(change.id) \(leaf.revisionID) \(leaf.properties) \(attachments)"
            }
        }
        return Set(rows)
    }

    @Test(arguments: [false, true])
    func `a pulling peer gets every document, in the open and over TLS`(isSecure: Bool) async throws
    {
        try fill(there, 1_500)
        let identity = site.folder.appending(path: "identity.pem")
        let tls = isSecure ? try ListenerTLS.selfSigned(keptAt: identity) : nil
        let listener = try site.listen { $0.tls = tls }
        defer { listener.stop() }
        #expect(try url(listener).scheme == (isSecure ? "https" : "http"))
        let pull = try here.pull(from: try url(listener)) {
            if isSecure { $0.trust = .pinnedCertificates([try PEM.certificate(of: identity)]) }
            $0.isContinuous = true
        }
        // The app goes on writing meanwhile.
        for n in 0..<50 { try there.put("late\(n)", ["n": 1], parent: nil) }
        try await eventually { try here.document(withID: "late49") != nil }
        await eventually { pull.activity == .idle }
        await pull.stopAndWait()
        #expect(pull.lastError == nil)
        #expect(try here.documentCount == there.documentCount)
        let difference = try contents(here).symmetricDifference(try contents(there))
        #expect(difference.isEmpty, "\(difference.sorted().prefix(5))")
    }

    @Test func `the app decides whether a listener is trusted, before it is told anything`()
        async throws
    {
        try fill(there, 300)
        let identity = site.folder.appending(path: "identity.pem")
        let tls = try ListenerTLS.selfSigned(keptAt: identity)
        let listener = try site.listen { $0.tls = tls }
        defer { listener.stop() }
        let asked = Mutex<[String]>([])
        let pull = here.makePullReplication(from: try url(listener)) {
            $0.trust = .decision(
                ServerTrustDecision { server in
                    asked.withLock { $0.append(server.fingerprint) }
                    return server.fingerprint == tls.fingerprint
                })
        }
        pull.start()
        await pull.waitUntilEnded()
        #expect(pull.lastError == nil)
        #expect(try here.documentCount == there.documentCount)
        // Once for a connection, and connections are kept: 30 documents come with one request each.
        let count = asked.withLock { $0.count }
        #expect((1..<30).contains(count), "\(count)")
        #expect(asked.withLock { Set($0) } == [tls.fingerprint])
        let strict = here.makePullReplication(from: try url(listener)) {
            $0.trust = .decision(ServerTrustDecision { $0.isTrustedBySystem })
        }
        strict.start()
        await strict.waitUntilEnded()
        #expect(strict.lastError?.code == .untrusted)
    }

    @Test func `a peer that lets nobody write is pulled from, once and for ever`() async throws {
        try fill(there, 30)
        let listener = try site.listen { $0.readOnly = true }
        defer { listener.stop() }
        let once = here.makePullReplication(from: try url(listener))
        once.start()
        await once.waitUntilEnded()
        #expect(once.lastError == nil)
        #expect(try contents(here) == contents(there))

        let pull = here.makePullReplication(from: try url(listener)) {
            $0.isContinuous = true
            $0.checkpointInterval = .milliseconds(20)
        }
        pull.start()
        try there.put("late", ["n": 1], parent: nil)
        try await eventually { try here.document(withID: "late") != nil }
        try there.put("later", ["n": 1], parent: nil)
        try await eventually { try here.document(withID: "later") != nil }
        await eventually { pull.activity == .idle }
        #expect(pull.lastError == nil)
        await pull.stopAndWait()
    }

    @Test func `a replication leaves by the interface that is set`() async throws {
        try fill(there, 3)
        let listener = try site.listen()
        defer { listener.stop() }
        let pull = here.makePullReplication(from: try url(listener)) {
            $0.networkInterface = "lo"
        }
        pull.start()
        await pull.waitUntilEnded()
        #expect(pull.lastError == nil)
        #expect(try here.documentCount == there.documentCount)
        let lost = here.pull(from: try url(listener)) {
            $0.networkInterface = "none0"
            $0.retry.maximumAttempts = 1
        }
        await lost.waitUntilEnded()
        #expect(lost.lastError?.code == .unreachable)
    }

    @Test func `a peer with a wrong pin is not spoken to`() async throws {
        let tls = try ListenerTLS.selfSigned(keptAt: site.folder.appending(path: "identity.pem"))
        let other = site.folder.appending(path: "other.pem")
        _ = try ListenerTLS.selfSigned(keptAt: other)
        let listener = try site.listen { $0.tls = tls }
        defer { listener.stop() }
        let pull = try here.makePullReplication(from: try url(listener)) {
            $0.trust = .pinnedCertificates([try PEM.certificate(of: other)])
            $0.retry.maximumAttempts = 1
        }
        pull.start()
        await pull.waitUntilEnded()
        #expect(pull.lastError != nil)
        #expect(try here.documentCount == 0)
    }

    @Test func `a filter of the other app and its parameters decide what is pulled`() async throws {
        for (n, owner) in ["Waldo", "Ann", "Waldo"].enumerated() {
            try there.put("d\(n)", ["owner": .string(owner)], parent: nil)
        }
        there.setFilter(named: "app/byOwner") { document, parameters in
            document["owner"].value == parameters["name"]
        }
        let listener = try site.listen()
        defer { listener.stop() }
        let pull = here.makePullReplication(from: try url(listener)) {
            $0.filter = "app/byOwner"
            $0.filterParameters = ["name": "Waldo"]
        }
        pull.start()
        await pull.waitUntilEnded()
        #expect(pull.lastError == nil)
        #expect(try here.allDocuments().map(\.id) == ["d0", "d2"])
    }

    @Test(arguments: [false, true], ["IDs", "selector"])
    func `IDs or a selector limit a pull from a listener, once and for ever`(
        isContinuous: Bool, kind: String
    ) async throws {
        for (n, kind) in ["task", "note", "task", "note"].enumerated() {
            try there.put("d\(n)", ["type": .string(kind)], parent: nil)
        }
        let listener = try site.listen()
        defer { listener.stop() }
        let pull = here.makePullReplication(from: try url(listener)) {
            $0.isContinuous = isContinuous
            if kind == "IDs" {
                $0.documentIDs = ["d0", "d2", "late2", "none"]
            } else {
                $0.selector = ["type": "task"]
            }
        }
        pull.start()
        try await eventually { try here.documentCount == 2 }
        guard isContinuous else {
            await pull.waitUntilEnded()
            #expect(pull.lastError == nil)
            #expect(try here.allDocuments().map(\.id) == ["d0", "d2"])
            return
        }
        try there.put("late1", ["type": "note"], parent: nil)
        try there.put("late2", ["type": "task"], parent: nil)
        try await eventually { try here.contains("late2") }
        await pull.stopAndWait()
        #expect(try here.allDocuments().map(\.id) == ["d0", "d2", "late2"])
    }

    @Test func `a user pulls only what the user may see, without asking for less`() async throws {
        for (n, owner) in ["ann", "bob", "ann"].enumerated() {
            try there.put("d\(n)", ["owner": .string(owner)], parent: nil)
        }
        let listener = try site.listen { options in
            options.access = .users(["ann": "secret"])
            options.authorization.reading = { user, _, document in
                user.isNamed(document.string(forKey: "owner"))
            }
        }
        defer { listener.stop() }
        let address = "http://ann:secret@127.0.0.1:\(try #require(listener.port))/notes"
        let pull = here.makePullReplication(from: address)
        pull.start()
        await pull.waitUntilEnded()
        #expect(pull.lastError == nil)
        #expect(try here.allDocuments().map(\.id) == ["d0", "d2"])
    }

    @Test func `peers that both write converge, and several do with one listener`() async throws {
        let listener = try site.listen { $0.access = .users(["ann": "secret"]) }
        defer { listener.stop() }
        let address = "http://ann:secret@127.0.0.1:\(try #require(listener.port))/notes"
        let others = try (0..<3).map { try Database.inMemory(named: "peer\($0)") }
        let replications = others.map { $0.sync(with: address) }
        for (n, database) in (others + [there]).enumerated() {
            for item in 0..<25 { try database.put("p\(n)-\(item)", ["n": 1], parent: nil) }
        }
        for database in others + [there] {
            try await eventually { try database.documentCount == 100 }
        }
        for (push, pull) in replications {
            await push.stopAndWait()
            await pull.stopAndWait()
        }
        let expected = try contents(there)
        for database in others {
            #expect(try contents(database).symmetricDifference(expected).isEmpty)
        }
    }

    @Test func `the steps of the first program work against a listener`() async throws {
        let listener = try site.listen()
        defer { listener.stop() }
        let folder = site.folder.appending(path: "app")
        let manager = try Manager(directory: folder)
        let database = try manager.database(named: "app")
        let task = MutableDocument(["type": "task", "title": "Learning", "sdk": "Swift"])
        try database.save(task)
        #expect(!task.id.text.isEmpty)
        let read = try #require(try database.document(withID: task.id))
        #expect(
            "\(read.string(forKey: "title") ?? "") \(read.string(forKey: "sdk") ?? "")"
                == "Learning Swift")
        let (push, pull) = database.sync(with: try url(listener))
        try await eventually { try there.document(withID: task.id)?["sdk"].string == "Swift" }
        try there.put("answer", ["type": "note"], parent: nil)
        try await eventually { try database.contains("answer") }
        await push.stopAndWait()
        await pull.stopAndWait()
        manager.close()
        let again = try Manager(directory: folder)
        #expect(try again.database(named: "app").document(withID: task.id) != nil)
        again.close()
    }

    @Test
    func `a client that asks again and again by longpoll misses nothing of a storm of writes`()
        async throws
    {
        let listener = try site.listen()
        defer { listener.stop() }
        let port = try #require(listener.port)
        let database = there
        let writers = (0..<3).map { writer in
            Task.detached {
                for n in 0..<120 {
                    try database.put("w\(writer)-\(n)", [:], parent: nil)
                }
            }
        }
        let seen: [String] = try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(with: Result { try Self.follow(port, until: 360) })
            }
        }
        for writer in writers { try await writer.value }
        #expect(seen.count == 360)
        #expect(Set(seen).count == 360)
    }

    /// Longpolls from where the last answer ended until so many documents were told of.
    private static func follow(_ port: UInt16, until count: Int) throws -> [String] {
        let client = try RawClient(port: port)
        var since: JSONValue = 0
        var ids: [String] = []
        while ids.count < count {
            client.request("GET", "/notes/_changes?feed=longpoll&since=\(since)")
            guard let answer = client.answer(), answer.status == 200 else { break }
            let feed = try JSONParser.parse(answer.body)
            ids += feed["results"]?.array?.compactMap { $0["id"]?.string } ?? []
            since = feed["last_seq"] ?? since
        }
        return ids
    }

    @Test func `a replication is started over HTTP by who has signed in with a cookie`()
        async throws
    {
        try there.put("a", [:], parent: nil)
        let listener = try site.listen { $0.access = .users(["ann": "secret"]) }
        defer { listener.stop() }
        let port = try #require(listener.port)
        let answers: [Int] = try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(with: Result { try Self.replicateWithCookie(port) })
            }
        }
        // Refused without the cookie; with it the replication runs, and so does one that takes the
        // cookie along to the other end.
        #expect(answers == [401, 200, 200, 200])
        #expect(try site.manager.database(named: "copy").contains("a"))
        #expect(try site.manager.database(named: "fetched").contains("a"))
    }

    private static func replicateWithCookie(_ port: UInt16) throws -> [Int] {
        let client = try RawClient(port: port)
        var statuses: [Int] = []
        func post(_ path: String, _ headers: [String], _ body: String) -> String {
            client.request(
                "POST", path, ["Content-Type: application/json"] + headers, Array(body.utf8))
            let answer = client.answer()
            statuses.append(answer?.status ?? 0)
            return answer?.header ?? ""
        }
        let local = #"{"source":"notes","target":"copy","create_target":true}"#
        _ = post("/_replicate", [], local)
        let header = post("/_session", [], #"{"name":"ann","password":"secret"}"#)
        let line = header.split(separator: "\r\n").first {
            $0.lowercased().hasPrefix("set-cookie:")
        }
        let cookie = line?.dropFirst("set-cookie: ".count).prefix { $0 != ";" } ?? ""
        _ = post("/_replicate", ["Cookie: \(cookie)"], local)
        // The client calls the listener localhost, so this URL counts as another server's.
        let remote = """
            {"source":{"url":"http://127.0.0.1:\(port)/notes","headers":{"Cookie":"\(cookie)"}},\
            "target":"fetched","create_target":true}
            """
        _ = post("/_replicate", ["Cookie: \(cookie)"], remote)
        return statuses
    }

    @Test(arguments: [nil, 50_000, Int.max])
    func
        `a document goes without an attachment that is too large for the server, if that is wanted`(
            limit: Int?
        ) async throws
    {
        let listener = try site.listen { $0.limits.attachment = 90_000 }
        defer { listener.stop() }
        let saved = try here.put(
            "a", ["n": 1], parent: nil,
            attachments: [
                "large": .bytes([UInt8](repeating: 1, count: 100_000)),
                "middle": .bytes([UInt8](repeating: 2, count: 60_000)),
                "small": .bytes([3]),
            ])
        try here.put("b", ["n": 2], parent: nil)
        let push = here.makePushReplication(to: try url(listener)) {
            $0.proxy = .none
            if let limit { $0.oversizedAttachments = .leaveOut(above: limit) }
        }
        let events = Mutex<[ReplicatedDocument]>([])
        let token = push.addDocumentListener { event in events.withLock { $0.append(event) } }
        push.start()
        await push.waitUntilEnded()
        token.remove()
        #expect(try there.contains("b"))
        let arrived = try there.document(withID: "a")
        let failures = events.withLock { $0.compactMap(\.error) }
        #expect(failures.count == 1)
        #expect(push.lastError?.documentID == "a")
        guard let limit else {
            #expect(arrived == nil)
            #expect(failures.first?.code == .rejected)
            #expect(failures.first?.status == 413)
            return
        }
        #expect(failures.first?.code == .attachmentTooLarge)
        #expect(failures.first?.message.contains("'large'") == true)
        #expect(arrived?.revisionID == saved.revisionID)
        let names = limit == .max ? ["middle", "small"] : ["small"]
        #expect(arrived?.attachments.map(\.name).sorted() == names)
        #expect(try here.document(withID: "a")?.attachments.count == 3)
        // An edit that names them as they were goes as well, without them again.
        let edited = try #require(try here.document(withID: "a")).toMutable()
        edited["n"] = 2
        try here.save(edited)
        push.start()
        await push.waitUntilEnded()
        let again = try #require(try there.document(withID: "a"))
        #expect(again.int(forKey: "n") == 2)
        #expect(again.attachments.map(\.name).sorted() == names)
        #expect(push.lastError?.code == .attachmentTooLarge)
    }

    @Test func `what was left out is not purged here`() async throws {
        let listener = try site.listen()
        defer { listener.stop() }
        let push = here.makePushReplication(to: try url(listener)) {
            $0.oversizedAttachments = .leaveOut()
            $0.purgesPushed = true
        }
        push.start()
        await push.waitUntilEnded()
        #expect(push.lastError?.code == .invalidSetting)
    }

    @Test(arguments: [10, 100_000])
    func `attachments whose names differ in their bytes only replicate both ways`(length: Int)
        async throws
    {
        let contents: [(name: String, bytes: [UInt8])] = [
            ("\u{E9}", [UInt8](repeating: 1, count: length)),
            ("e\u{301}", [UInt8](repeating: 2, count: length)),
        ]
        func save(_ database: Database, _ id: DocumentID) throws {
            let document = MutableDocument([:], id: id)
            for (name, bytes) in contents {
                document.setAttachment(named: name, contentType: nil, .bytes(bytes))
            }
            try database.save(document)
        }
        func hasBoth(_ database: Database, _ id: DocumentID) throws -> Bool {
            let document = try database.document(withID: id)
            return try contents.allSatisfy { name, bytes in
                try document?.attachment(named: name)?.content() == bytes
            }
        }
        try save(there, "pulled")
        try save(here, "pushed")
        let listener = try site.listen()
        defer { listener.stop() }
        for replication in [
            here.makePullReplication(from: try url(listener)),
            here.makePushReplication(to: try url(listener)),
        ] {
            try await replication.run()
        }
        #expect(try hasBoth(here, "pulled"))
        #expect(try hasBoth(there, "pushed"))
        let other = try Database.inMemory(named: "other")
        try await here.makePushReplication(to: other).run()
        #expect(try hasBoth(other, "pulled"))
    }
}
