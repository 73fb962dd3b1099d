// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

extension LabTests {
    /// Networks that have IPv4 or IPv6, but not both.
    @Suite struct FamilyTests {
        @Test(arguments: [NetworkLab.Family.ipv4, .ipv6])
        func `one family of addresses is enough`(family: NetworkLab.Family) async throws {
            let lab = try await NetworkLab("ann", "bob", family: family)
            let avahi = try await AvahiDaemon(lab, on: "bob")
            let browser = try avahi.browse()
            let divan = try await lab.divan(on: "ann")
            divan.browse()
            try await avahi.publish("Notes")
            try await divan.announce("Notes", port: 2_000)
            #expect(divan.names == ["Notes (2)"])
            await eventually { divan.services.map(\.name) == ["Notes", "Notes (2)"] }
            for service in divan.services {
                #expect(service.addresses.allSatisfy { $0.hasPrefix("[") == (family == .ipv6) })
            }
            let name = AvahiDaemon.escaped("Notes (2)")
            await eventually {
                browser.lines.contains { $0.hasPrefix("=;eth0;") && $0.contains(";\(name);") }
            }
            divan.end()
            await eventually {
                browser.lines.contains { $0.hasPrefix("-;eth0;") && $0.contains(";\(name);") }
            }
        }

        @Test func `probes wait for an address that can send them`() async throws {
            let lab = try await NetworkLab("ann", "bob", family: .ipv6)
            let ann = try await lab.divan(on: "ann")
            try await ann.announce("Notes")
            // An address cannot be used for a second or two, while the system makes sure that no other host has it.
            try lab.ip("link", "set", "eth0", "down", on: "bob")
            try lab.ip("link", "set", "eth0", "up", on: "bob")
            let bob = try await lab.divan(on: "bob")
            try await bob.announce("Notes")
            #expect(bob.names == ["Notes (2)"])
            #expect(ann.names == ["Notes"])
        }
    }
}
