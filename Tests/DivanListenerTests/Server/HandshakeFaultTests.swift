// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Foundation
import Synchronization
import Testing

@testable import DivanListener

/// Connections that break while TLS is being agreed on, or soon after: a sweep over the bytes of the server.
// Soak slices: 2
@Suite(.timeLimit(.minutes(30))) struct HandshakeFaultTests {
    private let site: TestSite
    private let there: Database
    private let listener: Listener
    private let pin: [UInt8]

    init() throws {
        site = try TestSite()
        there = try site.manager.database(named: "notes")
        for n in 0..<5 { try there.save(MutableDocument(["n": .integer(Int64(n))], id: "d\(n)")) }
        let identity = site.folder.appending(path: "identity.pem")
        let tls = try ListenerTLS.selfSigned(keptAt: identity)
        listener = try site.listen { $0.tls = tls }
        pin = try PEM.certificate(of: identity)
    }

    /// The server's first flight is some 1,100 bytes long, and a whole pull less than 8,000.
    private static func fault(_ random: inout SeededRandom) -> TunnelFault {
        let place = random.oneIn(4) ? random.below(8_000) : random.below(1_400)
        return switch random.below(8) {
        case 0: .stall(place % 1_400)
        case 1, 2, 3: .damage(place)
        default: .cut(place)
        }
    }

    @Test func `whatever breaks a handshake only delays a replication`() async throws {
        let port = try #require(listener.port)
        defer { listener.stop() }
        for round in Soak.rounds(test: 25, soak: 4_000) {
            var random = Soak.random(round: round, salt: 77)
            let faults = Mutex((0..<1 + random.below(3)).map { _ in Self.fault(&random) })
            let described = faults.withLock { "\($0)" }
            let server = try LoopbackServer(isRaw: true) { _, connection in
                connection.tunnel(
                    toPort: Int(port),
                    fault: faults.withLock { $0.isEmpty ? nil : $0.removeFirst() })
            }
            defer { server.stop() }
            let here = try Database.inMemory(named: "here")
            let pull = here.makePullReplication(from: "https://127.0.0.1:\(server.port)/notes") {
                $0.trust = .pinnedCertificates([pin])
                $0.proxy = .none
                $0.isContinuous = true
                $0.retry.firstDelay = .milliseconds(1)
                $0.retry.longestDelay = .milliseconds(20)
                $0.timeouts.connect = .milliseconds(500)
                $0.timeouts.head = .seconds(1)
                $0.timeouts.silence = .seconds(1)
                $0.customProperties = ["heartbeat": 1_000]
            }
            pull.start()
            let isWhole = try await eventually { try here.documentCount == 5 }
            #expect(isWhole, "round \(round): \(described)")
            await pull.stopAndWait()
        }
    }
}

/// Files in PEM form.
enum PEM {
    /// The certificate of an identity, which stands behind its key.
    static func certificate(of file: URL) throws -> [UInt8] {
        let text = try String(contentsOf: file, encoding: .utf8)
        let start = try #require(text.range(of: "-----BEGIN CERTIFICATE-----"))
        let lines = text[start.upperBound...].split(separator: "\n")
            .prefix { !$0.hasPrefix("-----") }
        return Array(try #require(Data(base64Encoded: lines.joined())))
    }
}
