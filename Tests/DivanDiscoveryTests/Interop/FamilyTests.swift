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
    }
}
