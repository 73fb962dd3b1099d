// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanTestSupport
import Foundation
import Synchronization
import Testing

@testable import DivanHTTP

/// A server with TLS, by the `openssl` program, with a certificate of its own making.
private final class TLSServer {
    let port: Int
    let certificate: String
    let clientCertificate: ClientCertificate
    private let process: ChildProcess
    private let folder: URL

    /// The certificate in DER form.
    var der: [UInt8] {
        let lines = certificate.split(separator: "\n").filter { !$0.hasPrefix("-----") }
        return Base64.decode(lines.joined()) ?? []
    }

    /// The fingerprint as the program prints it: in upper case, with colons.
    var fingerprint: String {
        let digest = CertificatePin.sha256(of: der[...]) ?? []
        return digest.map { String($0 / 16, radix: 16) + String($0 % 16, radix: 16) }
            .joined(separator: ":").uppercased()
    }

    /// Makes keys and starts the program.
    ///
    /// `redirecting` is where `/start` leads to; nil for a page of the program's.
    init(
        wantsClientCertificate: Bool = false, redirecting: String? = nil, options: [String] = []
    ) throws {
        folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for name in ["server", "client"] {
            let make = try Self.run(
                [
                    "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                    "-nodes",
                    "-days", "2", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost",
                    "-keyout", "\(name).key", "-out", "\(name).pem",
                ], in: folder, output: nil)
            try #require(make.wait() == 0)
        }
        certificate = try String(contentsOf: folder.appending(path: "server.pem"), encoding: .utf8)
        clientCertificate = ClientCertificate(
            certificate: try String(
                contentsOf: folder.appending(path: "client.pem"), encoding: .utf8),
            key: try String(contentsOf: folder.appending(path: "client.key"), encoding: .utf8))
        if let redirecting {
            // The program answers with a file, head and all.
            let head = "HTTP/1.0 302 Found\r\nLocation: \(redirecting)\r\nContent-Length: 0\r\n\r\n"
            try head.write(to: folder.appending(path: "start"), atomically: false, encoding: .utf8)
        }
        let output = Pipe()
        process = try Self.run(
            [
                "s_server", "-accept", "127.0.0.1:0", "-cert", "server.pem", "-key", "server.key",
                redirecting == nil ? "-www" : "-HTTP",
            ]
                + (wantsClientCertificate
                    ? ["-Verify", "1", "-CAfile", "client.pem", "-verify_return_error"] : [])
                + options,
            in: folder, output: output)
        try output.fileHandleForWriting.close()
        // It says `ACCEPT 127.0.0.1:port` once it listens.
        var text = ""
        while !text.contains("\n") || !text.contains("ACCEPT ") {
            let data = output.fileHandleForReading.availableData
            try #require(!data.isEmpty)
            text += String(decoding: data, as: UTF8.self)
        }
        let line = try #require(text.split(separator: "\n").first { $0.contains("ACCEPT ") })
        port = try #require(line.split(separator: ":").last.flatMap { Int($0) })
    }

    deinit {
        process.signal(SIGTERM)
        process.wait()
        try? FileManager.default.removeItem(at: folder)
    }

    private static func run(
        _ arguments: [String], in folder: URL, output: Pipe?
    ) throws -> ChildProcess {
        try ChildProcess(
            #require(Machine.program("openssl")), arguments, in: folder.path,
            output: output.map { .descriptor($0.fileHandleForWriting.fileDescriptor) } ?? .null,
            error: .null)
    }

    /// The code of the failure to talk to it; `nil` when it answered.
    func outcome(
        host: String = "localhost", path: String = "",
        _ change: (inout CurlTransport.Options) -> Void
    ) async throws -> HTTPError.Code? {
        let url = try HTTPURL("https://\(host):\(port)/\(path)")
        let transport = try CurlTransport.direct(change)
        return await failure {
            let response = try await transport.send(HTTPRequest(.get, url))
            #expect(response.status == 200)
            _ = try await response.body.collect()
        }?.code
    }
}

@Suite struct CurlTLSTests {
    @Test(.enabled(if: Machine.program("openssl") != nil, "It needs the program openssl."))
    func `only what a policy trusts is trusted`() async throws {
        let (server, other) = (try TLSServer(), try TLSServer())
        let key = try #require(CertificatePin.sha256(ofKeyIn: server.der))
        let otherKey = try #require(CertificatePin.sha256(ofKeyIn: other.der))
        #expect(try await server.outcome { $0.trust = .system } == .untrusted)
        #expect(
            try await server.outcome { $0.trust = .anchors(pem: server.certificate, only: true) }
                == nil)
        #expect(
            try await server.outcome { $0.trust = .anchors(pem: server.certificate, only: false) }
                == nil)
        #expect(
            try await server.outcome { $0.trust = .anchors(pem: other.certificate, only: true) }
                == .untrusted)
        // The certificate names localhost only.
        #expect(
            try await server.outcome(host: "127.0.0.1") {
                $0.trust = .anchors(pem: server.certificate, only: true)
            } == .untrusted)
        for host in ["localhost", "127.0.0.1"] {
            #expect(
                try await server.outcome(host: host) {
                    $0.trust = .pinnedKeys(sha256: [otherKey, key], validates: false)
                } == nil)
            #expect(
                try await server.outcome(host: host) {
                    $0.trust = .pinnedCertificates([server.der])
                }
                    == nil)
        }
        #expect(
            try await server.outcome {
                $0.trust = .pinnedKeys(sha256: [otherKey], validates: false)
            }
                == .untrusted)
        #expect(
            try await server.outcome { $0.trust = .pinnedCertificates([other.der]) } == .untrusted)
        #expect(
            try await server.outcome { $0.trust = .pinnedKeys(sha256: [key], validates: true) }
                == .untrusted)
    }

    @Test(.enabled(if: Machine.program("openssl") != nil, "It needs the program openssl."))
    func `a closure of the app decides, with all that there is to know`() async throws {
        let server = try TLSServer()
        let seen = Mutex<[ServerTrust]>([])
        let answer = Mutex(true)
        let decision = ServerTrustDecision { trust in
            seen.withLock { $0.append(trust) }
            return answer.withLock { $0 }
        }
        #expect(try await server.outcome { $0.trust = .decision(decision) } == nil)
        let first = try #require(seen.withLock { $0.first })
        #expect(first.host == "localhost")
        #expect(first.port == server.port)
        #expect(first.certificates == [server.der])
        #expect(!first.isTrustedBySystem)
        #expect(first.problem?.contains("self") == true)
        #expect(first.fingerprint.count == 64)
        answer.withLock { $0 = false }
        #expect(try await server.outcome { $0.trust = .decision(decision) } == .untrusted)
        #expect(seen.withLock { $0.count } == 2)
        #expect(seen.withLock { $0.last?.fingerprint } == first.fingerprint)
        // What the app decides with the system's own verdict is the system's policy.
        let system = ServerTrustDecision { $0.isTrustedBySystem }
        #expect(try await server.outcome { $0.trust = .decision(system) } == .untrusted)
    }

    @Test(.enabled(if: Machine.program("openssl") != nil, "It needs the program openssl."))
    func `behind a proxy it is the server that is trusted or not`() async throws {
        let (server, other) = (try TLSServer(), try TLSServer())
        let asked = Record<String>()
        let (port, der) = (server.port, server.der)
        let proxy = try LoopbackServer { request, connection in
            asked.append("\(request.method) \(request.target)")
            connection.write(lines: "HTTP/1.1 200 Connection established\n\n")
            connection.tunnel(toPort: port)
        }
        defer { proxy.stop() }
        let seen = Record<ServerTrust>()
        func outcome(_ trust: TrustPolicy) async throws -> HTTPError.Code? {
            try await server.outcome {
                $0.proxy = .server("http://127.0.0.1:\(proxy.port)")
                $0.trust = trust
            }
        }
        let decision = ServerTrustDecision { trust in
            seen.append(trust)
            return trust.certificates == [der]
        }
        #expect(try await outcome(.decision(decision)) == nil)
        #expect(seen.all.map(\.host) == ["localhost"])
        #expect(seen.all.map(\.certificates) == [[der]])
        #expect(try await outcome(.decision(ServerTrustDecision { _ in false })) == .untrusted)
        #expect(try await outcome(.pinnedCertificates([der])) == nil)
        #expect(try await outcome(.pinnedCertificates([other.der])) == .untrusted)
        #expect(try await outcome(.fingerprints([server.fingerprint])) == nil)
        #expect(try await outcome(.fingerprints([other.fingerprint])) == .untrusted)
        let known = KnownHosts(
            path: FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path)
        defer { unlink(known.path) }
        #expect(try await outcome(.firstUse(known)) == nil)
        #expect(try known.entries().map(\.host) == ["localhost:\(server.port)"])
        #expect(try await outcome(.anchors(pem: server.certificate, only: true)) == nil)
        #expect(try await outcome(.system) == .untrusted)
        #expect(Set(asked.all) == ["CONNECT localhost:\(server.port)"])
    }

    @Test(.enabled(if: Machine.program("openssl") != nil, "It needs the program openssl."))
    func `a pin holds for the server that a redirect leads to, too`() async throws {
        let target = try TLSServer()
        let server = try TLSServer(redirecting: "https://127.0.0.1:\(target.port)/")
        func outcome(_ trust: TrustPolicy) async throws -> HTTPError.Code? {
            try await server.outcome(path: "start") { $0.trust = trust }
        }
        #expect(try await outcome(.fingerprints([server.fingerprint])) == .untrusted)
        #expect(try await outcome(.fingerprints([target.fingerprint])) == .untrusted)
        #expect(
            try await outcome(.fingerprints([server.fingerprint, target.fingerprint])) == nil)
        let known = KnownHosts(
            path: FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path)
        defer { unlink(known.path) }
        #expect(try await outcome(.firstUse(known)) == nil)
        #expect(
            try known.entries().map(\.host) == [
                "localhost:\(server.port)", "127.0.0.1:\(target.port)",
            ])
    }

    @Test(.enabled(if: Machine.program("openssl") != nil, "It needs the program openssl."))
    func `a policy without a usable pin trusts nobody`() async throws {
        let server = try TLSServer()
        for trust in [
            TrustPolicy.pinnedKeys(sha256: [], validates: false),
            .pinnedKeys(sha256: [[1, 2, 3]], validates: false), .pinnedCertificates([]),
            .pinnedCertificates([[0x30, 0x82]]), .fingerprints([]), .fingerprints(["5f"]),
        ] {
            #expect(try await server.outcome { $0.trust = trust } == .untrusted)
        }
    }

    @Test(.enabled(if: Machine.program("openssl") != nil, "It needs the program openssl."))
    func `a client certificate is shown to a server that wants one`() async throws {
        let server = try TLSServer(wantsClientCertificate: true)
        let trust = TrustPolicy.pinnedCertificates([server.der])
        #expect(
            try await server.outcome {
                $0.trust = trust
                $0.clientCertificate = server.clientCertificate
            } == nil)
        #expect(try await server.outcome { $0.trust = trust } != nil)
        #expect(
            try await server.outcome {
                $0.trust = trust
                $0.clientCertificate = ClientCertificate(certificate: "x", key: "y")
            } == .tlsFailed)
    }

    @Test func `a client's greeting offers TLS 1.2 and newer, and nothing older`() async throws {
        let greetings = Record<[UInt8]>()
        let server = try LoopbackServer(isRaw: true) { _, connection in
            // A record begins with its kind, a version, and its length.
            guard let head = connection.readBytes(5),
                let record = connection.readBytes(Int(head[3]) << 8 | Int(head[4]))
            else { return }
            greetings.append(record)
            connection.interrupt()
        }
        defer { server.stop() }
        let transport = try CurlTransport.direct()
        let url = try HTTPURL("https://127.0.0.1:\(server.port)/")
        _ = await failure { _ = try await transport.send(HTTPRequest(.get, url)) }
        let versions = try #require(greetings.all.first.map(Self.offeredVersions))
        #expect(versions.contains(0x0304))
        #expect(versions.allSatisfy { $0 == 0x0304 || $0 == 0x0303 })
    }

    /// The versions in the extension `supported_versions` of a client's greeting, by RFC 8446, 4.1.2.
    private static func offeredVersions(_ record: [UInt8]) -> [Int] {
        var rest = record[...]
        func number(_ bytes: Int) -> Int {
            defer { rest = rest.dropFirst(bytes) }
            return rest.prefix(bytes).reduce(0) { $0 << 8 | Int($1) }
        }
        func skip(_ count: Int) { rest = rest.dropFirst(count) }
        // The kind and length of the message, the old field for a version, and what is random.
        skip(4 + 2 + 32)
        skip(number(1))
        skip(number(2))
        skip(number(1))
        skip(2)
        while !rest.isEmpty {
            let (kind, length) = (number(2), number(2))
            let content = Array(rest.prefix(length))
            skip(length)
            guard kind == 0x002B else { continue }
            return stride(from: 1, to: content.count - 1, by: 2).map {
                Int(content[$0]) << 8 | Int(content[$0 + 1])
            }
        }
        return []
    }

    @Test(.enabled(if: Machine.program("openssl") != nil, "It needs the program openssl."))
    func `a server that speaks TLS of 1.1 or older is refused`() async throws {
        // Security level 0 is what lets the program speak them at all.
        let weak = ["-cipher", "ALL:@SECLEVEL=0"]
        for version in ["-tls1", "-tls1_1"] {
            let server = try TLSServer(options: [version] + weak)
            let outcome = try await server.outcome {
                $0.trust = .pinnedCertificates([server.der])
            }
            #expect(outcome == .tlsFailed, "\(version)")
        }
        for version in ["-tls1_2", "-tls1_3"] {
            let server = try TLSServer(options: [version])
            #expect(
                try await server.outcome { $0.trust = .pinnedCertificates([server.der]) } == nil,
                "\(version)")
        }
    }

    @Test(.enabled(if: Machine.program("openssl") != nil, "It needs the program openssl."))
    func `one transport's connection does not serve another's policy`() async throws {
        let server = try TLSServer()
        for _ in 0..<3 {
            #expect(
                try await server.outcome { $0.trust = .pinnedCertificates([server.der]) } == nil)
            #expect(try await server.outcome { $0.trust = .system } == .untrusted)
        }
    }
}
