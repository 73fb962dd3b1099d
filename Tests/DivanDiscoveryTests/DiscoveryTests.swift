// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

@testable import DivanDiscovery

/// Real sockets, on all interfaces of this machine.
@Suite(
    .enabled(if: !NetworkLink.current().isEmpty, "No interface of this machine multicasts."),
    .timeLimit(.minutes(5)))
struct DiscoveryTests {
    private let type: ServiceType

    init() throws {
        // A type of its own for each test, so that tests that run side by side do not meet.
        let digits = String(UInt32.random(in: 0...UInt32.max), radix: 36)
        type = try ServiceType("_t\(digits)._tcp")
    }

    /// The first list of services that is as wanted; nil when there is none in half a minute.
    private func services(
        _ discovery: Discovery, _ type: ServiceType,
        _ isWanted: @escaping @Sendable ([DiscoveredService]) -> Bool
    ) async -> [DiscoveredService]? {
        await withTaskGroup(of: [DiscoveredService]?.self) { group in
            group.addTask {
                for await services in discovery.services(of: type) where isWanted(services) {
                    return services
                }
                return nil
            }
            group.addTask {
                try? await Task.sleep(for: .seconds(30))
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }

    @Test func `a service is found with its port, text and addresses, and lost when it stops`()
        async throws
    {
        let here = try Discovery()
        let there = try Discovery()
        let service = try here.advertise("Ann's notes", type: type, port: 49_213, text: ["v": "2"])
        #expect(await service.announced() == "Ann's notes")
        let found = try #require(
            await services(there, type) { $0.first?.addresses.isEmpty == false })
        #expect(found.map(\.name) == ["Ann's notes"])
        #expect(found.first?.port == 49_213)
        #expect(found.first?.text["V"] == "2")
        try service.setText(["v": "3"])
        _ = try #require(await services(there, type) { $0.first?.text["v"] == "3" })
        var seen: [Int] = []
        for await list in there.services(of: type) {
            seen.append(list.count)
            if list.count == 1 { service.stop() }
            if seen.contains(1), list.isEmpty { break }
        }
        #expect(service.name == nil)
    }

    @Test func `a name that is taken gets a number`() async throws {
        let here = try Discovery()
        let there = try Discovery()
        let first = try here.advertise("Ann", type: type, port: 1_000)
        #expect(await first.announced() == "Ann")
        let second = try there.advertise("Ann", type: type, port: 2_000)
        #expect(await second.announced() == "Ann (2)")
        let found = try #require(await services(here, type) { $0.count == 2 })
        #expect(found.map(\.name) == ["Ann", "Ann (2)"])
        #expect(found.map(\.port) == [1_000, 2_000])
        #expect(first.name == "Ann")
    }

    @Test
    func
        `an advertisement that is let go says goodbye, and a stopped discovery ends its sequences`()
        async throws
    {
        let here = try Discovery()
        let there = try Discovery()
        var service: ServiceAdvertisement? = try here.advertise(type: type, port: 1_000)
        let name = try #require(await service?.announced())
        #expect(name.hasPrefix("divan-"))
        var seen: [[String]] = []
        for await list in there.services(of: type) {
            seen.append(list.map(\.name))
            if seen.last == [name] { service = nil }
            if seen.contains([name]), seen.last == [] { there.stop() }
        }
        #expect(seen.contains([name]))
        #expect(seen.last == [])
        #expect(throws: DiscoveryError.self) { try there.advertise(type: type, port: 1_000) }
    }

    @Test func `names, types, texts and ports that DNS-SD does not allow are refused`() throws {
        let discovery = try Discovery()
        let long = String(repeating: "n", count: 64)
        for name in ["", long, "a\u{7}"] {
            #expect(throws: DiscoveryError.self) {
                try discovery.advertise(name, type: type, port: 1)
            }
        }
        for port in [0, -1, 65_536, .max] {
            #expect(throws: DiscoveryError.self) { try discovery.advertise(type: type, port: port) }
        }
        let texts: [ServiceText] = [
            ["": "v"], ["\u{E9}": "v"], ["k": String(repeating: "v", count: 253)],
            ServiceText(
                strings: [[UInt8]](repeating: [UInt8](repeating: 65, count: 200), count: 7)),
        ]
        for text in texts {
            #expect(throws: DiscoveryError.self) {
                try discovery.advertise(type: type, port: 1, text: text)
            }
        }
        for type in [
            "divan", "_divan", "_divan._sctp", "_._tcp", "_-a._tcp", "_1._tcp",
            "_sixteen-letters1._tcp", "_a._tcp.local",
        ] {
            #expect(throws: DiscoveryError.self) { try ServiceType(type) }
        }
        #expect(try ServiceType("_DIVAN._TCP") == .divan)
        #expect(ServiceType.divan.description == "_divan._tcp")
    }

    @Test func `addresses are written as URLs want them`() {
        let link = [0xFE, 0x80] + [UInt8](repeating: 0, count: 13) + [1]
        #expect(DiscoveredService.Address(bytes: [192, 0, 2, 7]).description == "192.0.2.7")
        #expect(
            DiscoveredService.Address(bytes: link, interface: "eth0").description
                == "[fe80::1%25eth0]")
        #expect(AddressText.ipv6([UInt8](repeating: 0, count: 16)) == "::")
        #expect(
            AddressText.ipv6([0x20, 1, 0xD, 0xB8] + [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
                == "2001:db8:1::1")
        #expect(AddressText.ipv6((0..<16).map { $0 }) == "1:203:405:607:809:a0b:c0d:e0f")
    }
}
