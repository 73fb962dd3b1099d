// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Synchronization
import Testing

@testable import DivanHTTP

@Suite struct KnownHostsTests {
    private let file: KnownHosts
    private static let a = String(repeating: "a1", count: 32)
    private static let b = String(repeating: "b2", count: 32)

    init() {
        file = KnownHosts(
            path: FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path)
    }

    private func text() throws -> String { try String(contentsOfFile: file.path, encoding: .utf8) }

    private func write(_ text: String) throws {
        try text.write(toFile: file.path, atomically: false, encoding: .utf8)
    }

    @Test func `the first contact is noted for its owner, and later ones must be the same`() throws
    {
        defer { unlink(file.path) }
        #expect(file.refusal(of: "x.example:6984", showing: Self.a) == nil)
        #expect(try text() == "x.example:6984 \(Self.a)\n")
        let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        #expect(file.refusal(of: "x.example:6984", showing: Self.a) == nil)
        #expect(file.refusal(of: "x.example:6985", showing: Self.b) == nil)
        #expect(try file.entries().map(\.host) == ["x.example:6984", "x.example:6985"])
        #expect(try file.entries().map(\.line) == [1, 2])
    }

    @Test func `a changed certificate is told with host, both fingerprints, file and line`() throws
    {
        defer { unlink(file.path) }
        try write("# mine\n\n[::1]:6984 \(Self.a)\n")
        let refusal = try #require(file.refusal(of: "[::1]:6984", showing: Self.b))
        #expect(refusal.code == .certificateChanged)
        #expect(!refusal.isTransient)
        for part in ["[::1]:6984", Self.a, Self.b, "line 3 of '\(file.path)'", "nothing was sent"] {
            #expect(refusal.message.contains(part), "\(part)")
        }
        #expect(try text() == "# mine\n\n[::1]:6984 \(Self.a)\n")
    }

    @Test func `a host may have several lines, comments and other spellings of a fingerprint`()
        throws
    {
        defer { unlink(file.path) }
        let colons = stride(from: 0, to: 64, by: 2).map { _ in "B2" }.joined(separator: ":")
        // The last line has no end, as editors leave it.
        try write("X.example:1 \(Self.a) # old\r\n\tx.example:1 \(colons) ann's")
        #expect(file.refusal(of: "x.example:1", showing: Self.a) == nil)
        #expect(file.refusal(of: "x.example:1", showing: Self.b) == nil)
        #expect(file.refusal(of: "x.example:1", showing: String(repeating: "c3", count: 32)) != nil)
        #expect(file.refusal(of: "y.example:1", showing: Self.b) == nil)
        #expect(try file.entries().map(\.line) == [1, 2, 3])
    }

    @Test(arguments: ["x.example:1", "x.example:1 a1a1", "x.example:1 sha1-aaaa"])
    func `a line without a fingerprint lets nothing be taken anew`(line: String) throws {
        defer { unlink(file.path) }
        try write(line + "\n")
        let refusal = try #require(file.refusal(of: "x.example:1", showing: Self.b))
        #expect(refusal.code == .untrusted)
        #expect(refusal.message.contains("line 1"))
        #expect(try text() == line + "\n")
    }

    @Test func `a file that cannot be read or made trusts no server`() throws {
        try FileManager.default.createDirectory(
            atPath: file.path, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: file.path) }
        #expect(file.refusal(of: "x:1", showing: Self.a)?.code == .untrusted)
        let lost = KnownHosts(path: file.path + "/none/hosts")
        #expect(lost.refusal(of: "x:1", showing: Self.a)?.code == .untrusted)
        #expect(throws: HTTPError.self) { try file.entries() }
    }

    @Test func `first contacts of many at once are all noted, once each`() throws {
        defer { unlink(file.path) }
        let refusals = Mutex(0)
        // Each has a descriptor of its own, so they lock one another out as processes do.
        DispatchQueue.concurrentPerform(iterations: 160) { n in
            let refusal = file.refusal(of: "host\(n % 40):1", showing: Self.a)
            if refusal != nil { refusals.withLock { $0 += 1 } }
        }
        #expect(refusals.withLock { $0 } == 0)
        let hosts = try file.entries().map(\.host)
        #expect(hosts.count == 40)
        #expect(Set(hosts).count == 40)
    }

    @Test func `a fingerprint is taken as people write it`() {
        let digits = "0123456789abcdef" + String(repeating: "5f", count: 24)
        #expect(CertificateFingerprint.normalized(digits) == digits)
        #expect(CertificateFingerprint.normalized(digits.uppercased()) == digits)
        let pairs = stride(from: 0, to: 64, by: 2).map { String(Array(digits)[$0...$0 + 1]) }
        #expect(CertificateFingerprint.normalized(pairs.joined(separator: ":")) == digits)
        #expect(CertificateFingerprint.normalized(" \(pairs.joined(separator: " "))\n") == digits)
        for wrong in [
            "", "5f", digits + "5", String(digits.dropLast()), digits + "\u{e9}", "sha1-aa",
        ] {
            #expect(CertificateFingerprint.normalized(wrong) == nil, "\(wrong)")
        }
    }

    @Test func `a policy that cannot decide says why before a connection is made`() throws {
        let secure = try HTTPURL("https://x/db")
        let policies: [TrustPolicy] = [
            .fingerprints([Self.a]), .firstUse(file), .decision(ServerTrustDecision { _ in true }),
            .pinnedKeys(sha256: [[UInt8](repeating: 1, count: 32)], validates: false),
        ]
        for policy in policies {
            #expect(policy.problem(for: secure) == nil)
            #expect(try policy.problem(for: HTTPURL("http://x/db"))?.contains("https") == true)
        }
        #expect(try TrustPolicy.system.problem(for: HTTPURL("http://x/db")) == nil)
        let useless: [TrustPolicy] = [
            .fingerprints([]), .fingerprints([Self.a, "a1:b2"]), .anchors(pem: "x", only: false),
            .pinnedCertificates([]), .pinnedCertificates([[1]]),
            .pinnedKeys(sha256: [[1]], validates: true),
        ]
        for policy in useless { #expect(policy.problem(for: secure) != nil) }
    }
}
