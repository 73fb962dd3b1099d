// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import DivanReplication
import DivanTestSupport
import Foundation
import Synchronization
import Testing

@testable import DivanListener

/// Keys and certificates by the `openssl` program: two authorities and what they vouch for.
private struct Certificates {
    let folder: URL

    init(in parent: URL) throws {
        folder = parent.appending(path: "certificates")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for authority in ["ours", "theirs"] {
            try run(
                ["req", "-x509", "-days", "2", "-subj", "/CN=\(authority)"] + Self.newKey(authority)
                    + ["-out", "\(authority).pem"])
        }
        try issue("ann", subject: "/O=Example/CN=ann", by: "ours", for: "clientAuth")
        try issue("admin", subject: "/CN=root", by: "ours", for: "clientAuth")
        try issue("nameless", subject: "/O=Nobody", by: "ours", for: "clientAuth")
        try issue("server", subject: "/CN=ann", by: "ours", for: "serverAuth")
        try issue("foreign", subject: "/CN=ann", by: "theirs", for: "clientAuth")
    }

    private static func newKey(_ name: String) -> [String] {
        [
            "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
            "\(name).key",
        ]
    }

    private func issue(
        _ name: String, subject: String, by authority: String, for use: String
    ) throws {
        try run(
            ["req", "-new", "-subj", subject] + Self.newKey(name) + ["-out", "\(name).csr"])
        try Data("extendedKeyUsage=\(use)\n".utf8).write(to: folder.appending(path: "use"))
        try run([
            "x509", "-req", "-in", "\(name).csr", "-CA", "\(authority).pem", "-CAkey",
            "\(authority).key", "-CAcreateserial", "-days", "2", "-extfile", "use", "-out",
            "\(name).pem",
        ])
    }

    private func run(_ arguments: [String]) throws {
        let process = try ChildProcess(
            #require(Machine.program("openssl")), arguments, in: folder.path, output: .null,
            error: .null)
        struct Failed: Error { var arguments: [String] }
        guard process.wait() == 0 else { throw Failed(arguments: arguments) }
    }

    func text(_ file: String) throws -> String {
        try String(contentsOf: folder.appending(path: file), encoding: .utf8)
    }

    func client(_ name: String) throws -> ClientCertificate {
        ClientCertificate(certificate: try text("\(name).pem"), key: try text("\(name).key"))
    }
}

/// Clients that show who they are by a certificate, over real TLS.
@Suite(.timeLimit(.minutes(10))) struct ClientCertificateTests {
    private let site: TestSite
    private let tls: ListenerTLS

    init() throws {
        site = try TestSite()
        tls = try .selfSigned(keptAt: site.folder.appending(path: "identity.pem"))
        _ = try site.manager.database(named: "notes")
    }

    private func listen(
        _ certificates: ListenerClientCertificates,
        _ edit: (inout ListenerOptions) -> Void = { _ in }
    ) throws -> Listener {
        try site.listen { options in
            options.access = .users(["pat": "secret"])
            options.tls = tls
            options.clientCertificates = certificates
            edit(&options)
        }
    }

    /// The status and the body of a `GET` by who shows a certificate.
    private func get(
        _ listener: Listener, _ client: ClientCertificate?, path: String = "_session",
        user: String = ""
    ) async throws -> (status: Int, json: JSONValue) {
        var options = CurlTransport.Options()
        options.proxy = .none
        options.trust = .decision(
            ServerTrustDecision { [tls] in $0.fingerprint == tls.fingerprint })
        options.clientCertificate = client
        let transport = try CurlTransport(options)
        defer { transport.close() }
        let port = try #require(listener.port)
        let url = try HTTPURL("https://\(user)127.0.0.1:\(port)/\(path)")
        let response = try await transport.send(HTTPRequest(.get, url))
        let body = try await response.body.collect()
        return (response.status, (try? JSONParser.parse(body)) ?? .null)
    }

    @Test(.enabled(if: Machine.program("openssl") != nil, "It needs the program openssl."))
    func `a certificate that leads to an anchor says who its client is`() async throws {
        let made = try Certificates(in: site.folder)
        let listener = try listen(ListenerClientCertificates(anchors: made.text("ours.pem")))
        defer { listener.stop() }
        let ann = try await get(listener, try made.client("ann"))
        #expect(ann.status == 200)
        #expect(ann.json["userCtx"]?["name"]?.string == "ann")
        #expect(ann.json["userCtx"]?["roles"]?.array?.isEmpty == true)
        #expect(ann.json["info"]?["authenticated"]?.string == "certificate")
        #expect(try await get(listener, try made.client("ann"), path: "notes").status == 200)
        #expect(try await get(listener, try made.client("ann"), path: "_all_dbs").status == 401)
        // A password in the request goes before it.
        let pat = try await get(listener, try made.client("ann"), user: "pat:secret@")
        #expect(pat.json["userCtx"]?["name"]?.string == "pat")
        #expect(
            try await get(listener, try made.client("ann"), user: "pat:wrong@").status == 401)
        // A certificate without a user's name lets its client in, as a user without a name.
        let nameless = try await get(listener, try made.client("nameless"))
        #expect(nameless.status == 200)
        #expect(nameless.json["userCtx"]?["name"] == .some(.null))
    }

    @Test(.enabled(if: Machine.program("openssl") != nil, "It needs the program openssl."))
    func `another certificate, or none, gets nothing`() async throws {
        let made = try Certificates(in: site.folder)
        let listener = try listen(ListenerClientCertificates(anchors: made.text("ours.pem")))
        defer { listener.stop() }
        for name in ["foreign", "server", "theirs"] {
            let answer = try await get(listener, try made.client(name), user: "pat:secret@")
            #expect(answer.status == 403, "\(name)")
            #expect(
                answer.json["reason"]?.string == "The client's certificate is not trusted.",
                "\(name)")
        }
        let none = try await get(listener, nil, user: "pat:secret@")
        #expect(none.status == 403)
        #expect(none.json["reason"]?.string == "A client certificate is needed.")
    }

    @Test(.enabled(if: Machine.program("openssl") != nil, "It needs the program openssl."))
    func `a certificate may be one way among others, and the app names its user`()
        async throws
    {
        let made = try Certificates(in: site.folder)
        var certificates = try ListenerClientCertificates(anchors: made.text("ours.pem"))
        certificates.isRequired = false
        certificates.user = { certificate in
            certificate.commonName == "root"
                ? ListenerUser(name: "root", roles: [ListenerUser.adminRole]) : nil
        }
        let seen = Mutex<[String?]>([])
        let listener = try listen(certificates) { options in
            options.authorization.request = { user, _, _ in
                seen.withLock { $0.append(user.certificate?.subject) }
                return true
            }
        }
        defer { listener.stop() }
        #expect(try await get(listener, try made.client("admin"), path: "_all_dbs").status == 200)
        #expect(try await get(listener, try made.client("ann"), path: "notes").status == 401)
        #expect(try await get(listener, nil, path: "notes", user: "pat:secret@").status == 200)
        #expect(try await get(listener, nil, path: "notes").status == 401)
        #expect(try await get(listener, try made.client("foreign"), path: "notes").status == 403)
        // With a password and a certificate, the app sees both.
        #expect(
            try await get(listener, try made.client("ann"), path: "notes", user: "pat:secret@")
                .status
                == 200)
        let subjects = seen.withLock { $0 }
        #expect(subjects.contains("CN=root"))
        #expect(subjects.contains { $0 == "CN=ann,O=Example" })
        #expect(subjects.contains { $0 == nil })
    }

    @Test func `a client's own certificate may be the anchor, and replications show it`()
        async throws
    {
        // Made by Divan itself, so no program is needed.
        let file = site.folder.appending(path: "client.pem")
        let own = try ListenerTLS.selfSigned(keptAt: file)
        var certificates = try ListenerClientCertificates(anchors: own.certificate)
        certificates.user = { certificate in
            certificate.fingerprint == own.fingerprint
                ? ListenerUser(name: "peer", roles: [ListenerUser.adminRole]) : nil
        }
        let listener = try listen(certificates)
        defer { listener.stop() }
        let there = try site.manager.database(named: "notes")
        try there.put("a", ["n": 1], parent: nil)
        let here = try Database.inMemory(named: "here")
        let url = try #require(listener.url(of: there))
        func pull(_ certificate: ClientCertificate?) async -> ReplicationError? {
            let pull = here.pull(from: url) {
                $0.trust = .decision(
                    ServerTrustDecision { [tls] in $0.fingerprint == tls.fingerprint })
                $0.clientCertificate = certificate
            }
            await pull.waitUntilEnded()
            return pull.lastError
        }
        #expect(await pull(nil)?.code == .forbidden)
        #expect(await pull(ClientCertificate(certificate: own.certificate, key: own.key)) == nil)
        #expect(try here.contains("a"))
        // One that looks the same, with another key.
        let other = try ListenerTLS.selfSigned(keptAt: site.folder.appending(path: "other.pem"))
        let wrong = ClientCertificate(certificate: other.certificate, key: other.key)
        #expect(await pull(wrong)?.code == .forbidden)
    }

    @Test func `a listener that cannot ask for certificates does not start`() throws {
        let own = try ListenerTLS.selfSigned(keptAt: site.folder.appending(path: "client.pem"))
        #expect(throws: DatabaseError.self) { try ListenerClientCertificates(anchors: "") }
        #expect(throws: DatabaseError.self) { try ListenerClientCertificates(anchors: own.key) }
        #expect(throws: DatabaseError.self) {
            try ListenerClientCertificates(
                anchors: own.certificate + "-----BEGIN CERTIFICATE-----\nAAAA\n")
        }
        let certificates = try ListenerClientCertificates(anchors: own.certificate)
        #expect(throws: DatabaseError.self) { _ = try listen(certificates) { $0.tls = nil } }
    }
}
