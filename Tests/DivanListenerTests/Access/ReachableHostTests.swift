// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanSystem
import Foundation
import Testing

@testable import DivanListener

@Suite struct ReachableHostTests {
    private static let loopback = InterfaceAddress(interface: "lo", bytes: [127, 0, 0, 1])
    private static let loopback6 = InterfaceAddress(
        interface: "lo", bytes: [UInt8](repeating: 0, count: 15) + [1])
    private static let four = InterfaceAddress(interface: "eth0", bytes: [192, 168, 1, 7])
    private static let second = InterfaceAddress(interface: "wlan0", bytes: [10, 0, 0, 9])
    private static let six = InterfaceAddress(
        interface: "eth0", bytes: [0x20, 1, 0xD, 0xB8] + [UInt8](repeating: 0, count: 11) + [7])
    private static let link = InterfaceAddress(interface: "eth1", bytes: [169, 254, 3, 4])
    private static let link6 = InterfaceAddress(
        interface: "eth0", bytes: [0xFE, 0x80] + [UInt8](repeating: 0, count: 13) + [5])

    @Test func `a listener on all interfaces names addresses that another device can use`() {
        let all = [
            Self.loopback, Self.loopback6, Self.link6, Self.six, Self.link, Self.four, Self.second,
        ]
        #expect(ReachableHosts.of("0.0.0.0", all) == ["192.168.1.7", "10.0.0.9"])
        #expect(
            ReachableHosts.of("::", all) == ["192.168.1.7", "10.0.0.9", "[2001:db8::7]"])
    }

    @Test func `addresses of one network only are named where there are no others`() {
        let all = [Self.loopback, Self.link6, Self.link]
        #expect(ReachableHosts.of("0.0.0.0", all) == ["169.254.3.4"])
        #expect(ReachableHosts.of("::", all) == ["169.254.3.4", "[fe80::5%25eth0]"])
        #expect(ReachableHosts.of("0.0.0.0", [Self.loopback, Self.six]) == ["127.0.0.1"])
        #expect(ReachableHosts.of("::", []) == ["127.0.0.1"])
    }

    @Test func `a listener on one address names that one`() {
        let all = [Self.loopback, Self.four]
        #expect(ReachableHosts.of("127.0.0.1", all) == ["127.0.0.1"])
        #expect(ReachableHosts.of("::1", all) == ["[::1]"])
        #expect(ReachableHosts.of("localhost", all) == ["localhost"])
        #expect(ReachableHosts.of("10.0.0.9", all) == ["10.0.0.9"])
        #expect(ReachableHosts.of("fe80::5%eth0", all) == ["[fe80::5%25eth0]"])
    }

    @Test func `a listener knows itself by the loopback, too`() {
        let all = [Self.loopback, Self.four]
        #expect(
            ReachableHosts.all("0.0.0.0", all) == ["127.0.0.1", "[::1]", "192.168.1.7"])
        #expect(ReachableHosts.all("10.0.0.9", all) == ["10.0.0.9"])
    }

    @Test(arguments: ["0.0.0.0", "::"])
    func `a database is pulled by the URL of a listener on all interfaces`(host: String)
        async throws
    {
        let site = try TestSite()
        let there = try site.manager.database(named: "a+b")
        try Self.put(there)
        let listener = try site.listen {
            $0.host = host
            $0.access = .users(["ann": "secret"])
        }
        defer { listener.stop() }
        let url = try #require(listener.url(of: there))
        let isAlone = LocalAddresses.all.allSatisfy { $0.isLoopback || $0.isIPv6 }
        if !isAlone { #expect(url.host() != "127.0.0.1" && url.host() != "::1") }
        let here = try Database.inMemory(named: "here")
        let pull = here.makePullReplication(from: url) {
            $0.authenticator = .basic(name: "ann", password: "secret")
            $0.proxy = .none
        }
        try await pull.run()
        #expect(try Self.count(here) == 1)
    }

    private static func put(_ database: Database) throws {
        try database.save(MutableDocument(["n": 1], id: "d"))
    }

    private static func count(_ database: Database) throws -> Int { try database.documentCount }
}
