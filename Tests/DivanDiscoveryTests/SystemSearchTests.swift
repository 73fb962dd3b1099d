// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import DivanDiscovery

/// What the system's service hands on is as foreign as what Divan reads itself.
struct SystemSearchTests {
    private let type = ServiceType.divan.name

    private func name(_ label: String) throws -> DNSName {
        try #require(type.prefixed(by: label))
    }

    @Test func `a service is there as long as it is seen on one interface`() throws {
        var search = SystemSearch()
        let ann = try name("Ann")
        search.take(ann, isThere: true)
        search.take(ann, isThere: true)
        #expect(search.services([]).isEmpty)
        search.resolve(ann, host: "ann.local.", port: 1, text: [3] + Array("v=2".utf8))
        #expect(search.services([]).isEmpty)
        search.take(.init(bytes: [192, 0, 2, 1], interface: 2), of: ann, isThere: true)
        let service = try #require(search.services([]).first)
        #expect(service.name == "Ann" && service.host == "ann.local" && service.text["v"] == "2")
        search.take(ann, isThere: false)
        #expect(search.services([]) == [service])
        search.take(ann, isThere: false)
        #expect(search.services([]).isEmpty && search.names.isEmpty)
        search.take(ann, isThere: false)
        #expect(search.names.isEmpty)
    }

    @Test func `a host that changes takes its addresses along`() throws {
        var search = SystemSearch()
        let ann = try name("Ann")
        search.take(ann, isThere: true)
        search.resolve(ann, host: "old.local", port: 1, text: [])
        search.take(.init(bytes: [192, 0, 2, 1], interface: 2), of: ann, isThere: true)
        search.resolve(ann, host: "new.local", port: 2, text: [])
        #expect(search.services([]).isEmpty)
        let link = [0xFE, 0x80] + [UInt8](repeating: 0, count: 13) + [1]
        search.take(.init(bytes: link, interface: 7), of: ann, isThere: true)
        let links = [NetworkLink(index: 7, name: "eth0", addresses: [])]
        #expect(search.services(links).first?.addresses.map(\.description) == ["[fe80::1%25eth0]"])
        #expect(search.services(links).first?.port == 2)
    }

    @Test func `what the system's service says is kept within bounds`() throws {
        var search = SystemSearch()
        for number in 0..<2_000 { search.take(try name("n\(number)"), isThere: true) }
        #expect(search.names.count == Browser.instanceLimit)
        let first = try name("n0")
        search.resolve(first, host: "a.local", port: 1, text: [])
        for number in 0..<100 {
            let address = SystemSearch.Address(bytes: [10, 0, 0, UInt8(number)], interface: 2)
            search.take(address, of: first, isThere: true)
        }
        #expect(search.services([]).first?.addresses.count == Browser.addressLimit)
    }

    @Test func `what no host sends leaves a service as it was`() throws {
        var search = SystemSearch()
        let ann = try name("Ann")
        search.take(ann, isThere: true)
        search.resolve(ann, host: "ann.local", port: 1, text: [3] + Array("v=2".utf8))
        search.take(.init(bytes: [192, 0, 2, 1], interface: 2), of: ann, isThere: true)
        let before = search.services([])
        search.resolve(ann, host: "", port: 2, text: [])
        search.resolve(ann, host: "b.local", port: 0, text: [])
        search.resolve(ann, host: "b.local", port: 2, text: [9, 1])
        search.resolve(ann, host: "b.local", port: 2, text: [UInt8](repeating: 0, count: 9_001))
        search.resolve(try name("Bob"), host: "b.local", port: 2, text: [])
        search.take(.init(bytes: [1, 2, 3], interface: 2), of: ann, isThere: true)
        search.take(
            .init(bytes: [192, 0, 2, 9], interface: 2), of: try name("Bob"), isThere: true)
        #expect(search.services([]) == before && before.count == 1)
    }
}
