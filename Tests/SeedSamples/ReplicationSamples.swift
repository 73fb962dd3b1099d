// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanListener
import FoundationEssentials
import Testing

/// The samples of the reference of version 1.4: replication and the listener, between two of them.
@Suite(.timeLimit(.minutes(10))) struct ReplicationSamples {
    /// Another device, which listens.
    private final class Peer {
        let sample: Sample
        let listener: Listener

        init() throws {
            sample = try Sample()
            var options = ListenerOptions()
            options.access = .users(["hello": "pw123"])
            listener = Listener(sample.manager, options)
            try listener.start()
        }

        /// Where its database `app` is found, without a password.
        var url: URL {
            get throws { try #require(listener.url(of: sample.database)) }
        }
    }

    private let sample: Sample
    private let peer: Peer
    private var database: Database { sample.database }

    init() throws {
        sample = try Sample()
        peer = try Peer()
    }

    @Test func `a push and a pull that are continuous keep both sides the same`() async throws {
        let (push, pull) = database.sync(with: try peer.url) {
            $0.authenticator = .basic(name: "hello", password: "pw123")
        }
        try database.put("mine", ["n": 1], parent: nil)
        try peer.sample.database.put("yours", ["n": 2], parent: nil)
        try await eventually { try database.documentCount == 2 }
        try await eventually { try peer.sample.database.documentCount == 2 }
        await eventually { push.activity == .idle && pull.activity == .idle }
        await push.stopAndWait()
        await pull.stopAndWait()
        #expect(push.activity == .stopped)
    }

    @Test func `a one-shot replication stops when everything is transferred`() async throws {
        for n in 0..<10 { try database.put("d\(n)", [:], parent: nil) }
        let push = database.makePushReplication(to: try peer.url) {
            $0.authenticator = .basic(name: "hello", password: "pw123")
        }
        push.start()
        await push.waitUntilEnded()
        #expect(push.activity == .stopped)
        #expect(push.lastError == nil)
        #expect(try peer.sample.database.documentCount == 10)
    }

    @Test func `a named filter with parameters decides what is pushed`() async throws {
        for (id, owner) in [("a", "Waldo"), ("b", "Wenda"), ("c", "Waldo")] {
            try database.put(DocumentID(id), ["owner": .string(owner)], parent: nil)
        }
        database.setFilter(named: "byOwner") { revision, parameters in
            guard let name = parameters["name"]?.string else { return false }
            return revision["owner"].string == name
        }
        let push = database.makePushReplication(to: try peer.url) {
            $0.authenticator = .basic(name: "hello", password: "pw123")
            $0.filter = "byOwner"
            $0.filterParameters = ["name": "Waldo"]
        }
        push.start()
        await push.waitUntilEnded()
        #expect(try peer.sample.database.allDocuments().map(\.id) == ["a", "c"])
    }

    @Test func `a pull may be limited to document IDs`() async throws {
        for id: DocumentID in ["123", "abc", "xyz"] {
            try peer.sample.database.put(id, [:], parent: nil)
        }
        let pull = database.makePullReplication(from: try peer.url) {
            $0.authenticator = .basic(name: "hello", password: "pw123")
            $0.documentIDs = ["123", "xyz"]
        }
        pull.start()
        await pull.waitUntilEnded()
        #expect(try database.allDocuments().map(\.id) == ["123", "xyz"])
    }

    @Test func `the progress of push and pull together never passes the whole`() async throws {
        for n in 0..<50 {
            try database.put("mine\(n)", [:], parent: nil)
            try peer.sample.database.put("yours\(n)", [:], parent: nil)
        }
        var settings = ReplicationConfiguration()
        settings.authenticator = .basic(name: "hello", password: "pw123")
        let push = database.push(to: try peer.url, settings: settings)
        let pull = database.pull(from: try peer.url, settings: settings)
        for await status in pull.statuses {
            #expect(status.transferred <= status.total)
        }
        await push.waitUntilEnded()
        let completed = push.completedChangesCount + pull.completedChangesCount
        #expect(completed == push.changesCount + pull.changesCount)
        #expect(completed == 100)
    }

    @Test func `wrong credentials are found by the error`() async throws {
        let pull = database.makePullReplication(from: try peer.url) {
            $0.authenticator = .basic(name: "hello", password: "wrong")
        }
        pull.start()
        await pull.waitUntilEnded()
        #expect(pull.lastError?.code == .unauthorized)
        #expect(pull.lastError?.status == 401)
    }

    @Test func `name and password may stand in the URL of a peer`() async throws {
        try database.put("photo", [:], parent: nil)
        let address = try "http://hello:pw123@127.0.0.1:\(#require(peer.listener.port))/app"
        let push = database.makePushReplication(to: address)
        push.start()
        await push.waitUntilEnded()
        #expect(push.lastError == nil)
        #expect(try peer.sample.database.documentCount == 1)
    }

    private func save(_ id: DocumentID) throws {
        try database.save(MutableDocument(["n": 1], id: id))
    }

    @Test func `a listener may speak TLS with an identity of its own that it keeps`() async throws {
        let file = sample.manager.directory.appending(path: "identity.pem")
        let tls = try ListenerTLS.selfSigned(keptAt: file)
        #expect(try ListenerTLS.selfSigned(keptAt: file).fingerprint == tls.fingerprint)
        var options = ListenerOptions()
        options.access = .users(["hello": "pw123"])
        options.tls = tls
        let listener = Listener(peer.sample.manager, options)
        try listener.start()
        defer { listener.stop() }
        try save("a")
        let address = try "https://hello:pw123@127.0.0.1:\(#require(listener.port))/app"
        // No authority vouches for the certificate, so a client must be told of it.
        let push = database.makePushReplication(to: address)
        push.start()
        await push.waitUntilEnded()
        #expect(push.lastError?.code == .untrusted)
        let known = ServerTrustDecision { $0.fingerprint == tls.fingerprint }
        try await database.push(to: address) { $0.trust = .decision(known) }.run()
        #expect(try peer.sample.database.documentCount == 1)
    }
}
