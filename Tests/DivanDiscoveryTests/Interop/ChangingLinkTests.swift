// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

extension LabTests {
    /// What happens to interfaces and addresses while services are announced and looked for.
    @Suite struct ChangingLinkTests {
        @Test func `addresses that come and go are told`() async throws {
            let lab = try await NetworkLab("ann", "bob")
            let avahi = try await AvahiDaemon(lab, on: "bob")
            let ann = try await lab.divan(on: "ann")
            let bob = try await lab.divan(on: "bob")
            bob.browse()
            try await ann.announce("Notes")
            func isTold(_ address: String) -> Bool {
                bob.services.first?.addresses.contains(address) ?? false
            }
            await eventually { isTold("192.0.2.1") && isTold("[2001:db8::1]") }
            try lab.ip("address", "add", "192.0.2.77/24", "dev", "eth0", on: "ann")
            await eventually { isTold("192.0.2.77") && isTold("192.0.2.1") }
            try lab.ip("address", "del", "192.0.2.1/24", "dev", "eth0", on: "ann")
            try lab.ip("address", "add", "192.0.2.78/24", "dev", "eth0", on: "ann")
            try lab.ip("address", "del", "2001:db8::1/64", "dev", "eth0", on: "ann")
            await eventually {
                isTold("192.0.2.78") && !isTold("192.0.2.1") && !isTold("[2001:db8::1]")
            }
            let browser = try avahi.browse()
            await eventually {
                browser.lines.contains { $0.hasPrefix("=") && $0.contains(";192.0.2.78;") }
            }
            #expect(!browser.hasSaid(";192.0.2.1;"))
        }

        @Test func `a host that was off the network is found when it comes back`() async throws {
            let lab = try await NetworkLab("ann", "bob")
            let ann = try await lab.divan(on: "ann")
            let bob = try await lab.divan(on: "bob")
            for party in [ann, bob] { party.browse() }
            try await ann.announce("Notes")
            await eventually { bob.services.first?.addresses.count == 3 }
            let start = ContinuousClock.now
            for isCable in [true, false] {
                func turn(_ isOn: Bool) throws {
                    if isCable {
                        try lab.plug("bob", isOn)
                    } else {
                        try lab.ip("link", "set", "eth0", isOn ? "up" : "down", on: "bob")
                    }
                }
                try turn(false)
                // What is behind the cable is there no longer.
                await eventually { bob.services.isEmpty }
                try turn(true)
                await eventually { bob.services.map(\.name) == ["Notes"] }
            }
            // Without a word from the system it would go on to show what was there for two minutes.
            #expect(ContinuousClock.now - start < .seconds(60))
        }

        @Test func `a network that was changed in a moment is looked at anew`() async throws {
            let lab = try await NetworkLab("ann", "bob")
            let ann = try await lab.divan(on: "ann")
            let bob = try await lab.divan(on: "bob")
            bob.browse()
            try await bob.announce("Notes")
            try await ann.announce("Here before")
            await eventually { bob.services.map(\.name) == ["Here before", "Notes"] }
            // While it does not run it cannot see the cable without a network, and hears no goodbye.
            bob.suspend(true)
            try lab.plug("bob", false)
            ann.withdraw()
            try await ann.announce("Notes")
            #expect(ann.names.last == "Notes")
            try lab.plug("bob", true)
            let start = ContinuousClock.now
            bob.suspend(false)
            await eventually { bob.services.map(\.name) == ["Notes", "Notes (2)"] }
            #expect(ann.names == ["Here before", "Notes"])
            #expect(bob.names == ["Notes", "Notes (2)"])
            #expect(ContinuousClock.now - start < .seconds(60))
        }

        @Test func `a service without a network takes a name when it has one`() async throws {
            let lab = try await NetworkLab("ann", "bob")
            try lab.plug("bob", false)
            let ann = try await lab.divan(on: "ann")
            let bob = try await lab.divan(on: "bob")
            bob.browse()
            bob.advertise("Notes")
            try await ann.announce("Notes")
            #expect(bob.names.isEmpty)
            try lab.plug("bob", true)
            await eventually { bob.names == ["Notes (2)"] }
            await eventually { bob.services.map(\.name) == ["Notes", "Notes (2)"] }
            #expect(ann.names == ["Notes"])
        }

        @Test func `an interface that appears while a discovery runs is used`() async throws {
            let lab = try await NetworkLab("ann", "bob")
            try lab.ip("link", "set", "eth0", "down", on: "ann")
            let ann = try await lab.divan(on: "ann")
            let bob = try await lab.divan(on: "bob")
            bob.browse()
            ann.advertise("Notes")
            try lab.ip("link", "set", "eth0", "up", on: "ann")
            await eventually { bob.services.map(\.name) == ["Notes"] }
            await eventually { ann.names == ["Notes"] }
        }
    }
}
