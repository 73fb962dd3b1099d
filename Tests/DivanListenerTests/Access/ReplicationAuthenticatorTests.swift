// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import DivanReplication
import Foundation
import Synchronization
import Testing

@testable import DivanListener

/// Every way for a replication to say who it is, against a listener that checks it.
@Suite(.timeLimit(.minutes(10))) struct ReplicationAuthenticatorTests {
    enum Way: CaseIterable {
        case basic, nameInURL, session, token, renewedToken, proxy, clientCertificate
    }

    private static let key = Array("a key of thirty-two bytes or more".utf8)
    private static let secret = Array("between the two of us".utf8)

    private let site: TestSite
    private let there: Database
    private let tls: ListenerTLS
    /// The certificate that the listener knows, and one that it does not.
    private let own: ListenerTLS
    private let foreign: ListenerTLS
    /// The user who asked for documents last.
    private let reader = Seen()

    private final class Seen: Sendable {
        let name = Mutex<String?>(nil)
    }

    init() throws {
        site = try TestSite()
        there = try site.manager.database(named: "notes")
        tls = try ListenerTLS.selfSigned(keptAt: site.folder.appending(path: "server.pem"))
        own = try ListenerTLS.selfSigned(keptAt: site.folder.appending(path: "own.pem"))
        foreign = try ListenerTLS.selfSigned(keptAt: site.folder.appending(path: "foreign.pem"))
        try there.put("a", ["n": 1], parent: nil)
    }

    private func listen() throws -> Listener {
        var options = ListenerOptions()
        options.access = .users(["ann": "secret"])
        options.tls = tls
        options.tokens = try ListenerTokens(keys: ["_default": Self.key])
        options.proxy = try ListenerProxyAuthentication(secret: Self.secret)
        var certificates = try ListenerClientCertificates(anchors: own.certificate)
        certificates.isRequired = false
        certificates.user = { [own] certificate in
            certificate.fingerprint == own.fingerprint ? ListenerUser(name: "ann") : nil
        }
        options.clientCertificates = certificates
        options.authorization.reading = { [reader] user, _, _ in
            reader.name.withLock { $0 = user.name }
            return true
        }
        let listener = Listener(site.manager, options)
        try listener.start()
        return listener
    }

    private static func token(for name: String, key: [UInt8] = key) -> String {
        func encoded(_ bytes: [UInt8]) -> String {
            Base64.encode(bytes).replacingOccurrences(of: "+", with: "-")
                .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
        }
        let claims: JSONObject = ["sub": .string(name), "exp": .integer(Accounts.now + 600)]
        let body = [["alg": "HS256", "typ": "JWT"], claims]
            .map { encoded(Array(JSONWriter.string(.object($0)).utf8)) }.joined(separator: ".")
        return "\(body).\(encoded(Secrets.sign(Array(body.utf8), key: key)))"
    }

    private func prove(
        _ way: Way, rightly: Bool, _ settings: inout ReplicationConfiguration, _ url: inout String
    ) {
        let password = rightly ? "secret" : "guess"
        let key = rightly ? Self.key : Self.key.reversed()
        switch way {
        case .basic: settings.authenticator = .basic(name: "ann", password: password)
        case .nameInURL: url = url.replacingOccurrences(of: "://", with: "://ann:\(password)@")
        case .session: settings.authenticator = .session(name: "ann", password: password)
        case .token: settings.authenticator = .bearer(token: Self.token(for: "ann", key: key))
        case .renewedToken:
            // The first one is of no use, so it is asked for another one.
            settings.authenticator = .bearer { refused in
                Self.token(for: "ann", key: refused == nil ? Self.key.reversed() : key)
            }
        case .proxy:
            let secret = rightly ? Self.secret : Self.secret.reversed()
            let token = Hexadecimal.text(Secrets.sign(Array("ann".utf8), key: secret))
            settings.authenticator = .proxy(userName: "ann", token: token)
        case .clientCertificate:
            let shown = rightly ? own : foreign
            settings.clientCertificate = ClientCertificate(
                certificate: shown.certificate, key: shown.key)
        }
    }

    private func replication(_ way: Way, rightly: Bool, _ listener: Listener, _ here: Database)
        throws -> Replication
    {
        var url = try #require(listener.url(of: there)).absoluteString
        var settings = ReplicationConfiguration()
        settings.trust = .decision(
            ServerTrustDecision { [tls] in $0.fingerprint == tls.fingerprint })
        settings.retry.maximumAttempts = 1
        prove(way, rightly: rightly, &settings, &url)
        return here.makePullReplication(from: url, settings: settings)
    }

    @Test(arguments: Way.allCases)
    func `a listener knows the user of a replication by each kind of credentials`(way: Way)
        async throws
    {
        let listener = try listen()
        defer { listener.stop() }
        let here = try Database.inMemory(named: "here")
        let summary = try await replication(way, rightly: true, listener, here).run()
        #expect(summary.transferred == 1)
        #expect(reader.name.withLock { $0 } == "ann")
    }

    @Test(arguments: Way.allCases)
    func `a listener gives nothing to a replication whose credentials are wrong`(way: Way)
        async throws
    {
        let listener = try listen()
        defer { listener.stop() }
        let here = try Database.inMemory(named: "here")
        let pull = try replication(way, rightly: false, listener, here)
        pull.start()
        await pull.waitUntilEnded()
        let code = try #require(pull.failure?.code)
        #expect([.unauthorized, .forbidden].contains(code))
        #expect(try here.documentCount == 0)
        #expect(reader.name.withLock { $0 } == nil)
    }
}
