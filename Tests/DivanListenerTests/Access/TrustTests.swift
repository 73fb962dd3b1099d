// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

/// What a listener tells of its certificate, and what a replication makes of it, over real sockets.
@Suite struct TrustTests {
    private let site: TestSite
    private let there: Database
    private let here: Database
    private let identity: ListenerTLS
    private let knownHosts: URL
    private let requests = Counter()

    init() throws {
        site = try TestSite()
        there = try site.manager.database(named: "notes")
        try there.save(MutableDocument(["n": 1], id: "d"))
        here = try Database.inMemory(named: "here")
        identity = try .selfSigned(keptAt: site.folder.appending(path: "identity.pem"))
        knownHosts = site.folder.appending(path: "known-hosts")
    }

    private func listen(
        _ identity: ListenerTLS, host: String = "127.0.0.1", port: UInt16 = 0
    ) throws -> Listener {
        try site.listen { options in
            options.host = host
            options.port = port
            options.tls = identity
            options.authorization.request = { [requests] _, _, _ in
                requests.add()
                return true
            }
        }
    }

    private func pull(_ url: String, _ trust: TrustPolicy, isContinuous: Bool = false) async
        -> ReplicationError?
    {
        let pull = here.pull(from: url) {
            $0.trust = trust
            $0.proxy = .none
            $0.isContinuous = isContinuous
        }
        await pull.waitUntilEnded()
        return pull.lastError
    }

    private func hasPulled() throws -> Bool { try here.contains("d") }

    @Test(arguments: [("127.0.0.1", "127.0.0.1"), ("localhost", "localhost"), ("::1", "[::1]")])
    func `what a listener tells of its certificate is what a replication takes`(
        host: String, name: String
    ) async throws {
        let listener = try listen(identity, host: host)
        defer { listener.stop() }
        let url = "https://\(name):\(try #require(listener.port))/notes"
        #expect(listener.url(of: there)?.absoluteString == url)
        let told = try #require(listener.fingerprint)
        #expect(await pull(url, .fingerprints([told]))?.message == nil)
        #expect(try hasPulled())
        let pairs = stride(from: 0, to: 64, by: 2).map { Array(told)[$0...$0 + 1] }
        for separator in [":", " "] {
            let written = pairs.map { String($0).uppercased() }.joined(separator: separator)
            #expect(await pull(url, .fingerprints([written]))?.message == nil)
        }
    }

    @Test func `a certificate of another host that has ended is trusted by its fingerprint alone`()
        async throws
    {
        let (key, certificate) = try ListenerTLS.make(["elsewhere.example"], days: -1)
        let ended = try ListenerTLS(key: key, certificate: certificate)
        let listener = try listen(ended)
        defer { listener.stop() }
        let url = try #require(listener.url(of: there)).absoluteString
        #expect(await pull(url, .anchors(pem: certificate, only: true))?.code == .untrusted)
        #expect(try !hasPulled())
        #expect(await pull(url, .fingerprints([ended.fingerprint]))?.message == nil)
        #expect(try hasPulled())
    }

    @Test func `a server with another fingerprint is told its own, and gets nothing`() async throws
    {
        let listener = try listen(identity)
        defer { listener.stop() }
        let url = try #require(listener.url(of: there)).absoluteString
        let wrong = String(repeating: "5f", count: 32)
        let error = await pull(url, .fingerprints([wrong]))
        #expect(error?.code == .untrusted)
        #expect(error?.message.contains(identity.fingerprint) == true)
        #expect(try !hasPulled())
        #expect(requests.value == 0)
    }

    @Test(arguments: [false, true])
    func `a policy that cannot decide ends a replication at once`(isContinuous: Bool) async throws {
        // A port on which nothing listens: no connection is tried.
        let cases: [(String, TrustPolicy)] = [
            ("https://127.0.0.1:1/notes", .fingerprints(["5f:5f"])),
            ("https://127.0.0.1:1/notes", .fingerprints([])),
            ("http://127.0.0.1:1/notes", .fingerprints([identity.fingerprint])),
            ("http://127.0.0.1:1/notes", .trustOnFirstUse(keptAt: knownHosts)),
        ]
        for (url, trust) in cases {
            let error = await pull(url, trust, isContinuous: isContinuous)
            #expect(error?.code == .invalidSetting, "\(url)")
        }
    }

    @Test(arguments: [false, true])
    func `a server that was met before must show the same certificate`(isContinuous: Bool)
        async throws
    {
        let first = try listen(identity)
        let port = try #require(first.port)
        let url = "https://127.0.0.1:\(port)/notes"
        let trust = TrustPolicy.trustOnFirstUse(keptAt: knownHosts)
        #expect(await pull(url, trust)?.message == nil)
        #expect(try hasPulled())
        let lines = try String(contentsOf: knownHosts, encoding: .utf8)
        #expect(lines == "127.0.0.1:\(port) \(identity.fingerprint)\n")
        #expect(await pull(url, trust)?.message == nil)
        first.stop()

        let other = try ListenerTLS.selfSigned(keptAt: site.folder.appending(path: "other.pem"))
        let second = try listen(other, port: port)
        defer { second.stop() }
        try Self.put("later", there)
        let served = requests.value
        #expect(served > 0)
        let error = await pull(url, trust, isContinuous: isContinuous)
        #expect(error?.code == .certificateChanged)
        let path = knownHosts.path(percentEncoded: false)
        for part in [identity.fingerprint, other.fingerprint, "line 1 of '\(path)'"] {
            #expect(error?.message.contains(part) == true, "\(part)")
        }
        #expect(try !Self.contains("later", here))
        #expect(requests.value == served)
        #expect(try String(contentsOf: knownHosts, encoding: .utf8) == lines)

        // The people who run it say that it is right.
        try FileManager.default.removeItem(at: knownHosts)
        #expect(await pull(url, trust)?.message == nil)
        #expect(try Self.contains("later", here))
    }

    /// The requests that a listener has got.
    private static func put(_ id: DocumentID, _ database: Database) throws {
        try database.save(MutableDocument([:], id: id))
    }

    private static func contains(_ id: DocumentID, _ database: Database) throws -> Bool {
        try database.contains(id)
    }
}
