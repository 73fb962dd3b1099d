// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

extension LabTests {
    /// Divan meets Avahi, on one network and on one host.
    @Suite struct AvahiTests {
        /// Words of a line of `avahi-browse`: sign, interface, family, name, type, domain, host, address, port, text.
        private func found(
            _ browser: LabProgram, _ sign: String, _ name: String
        ) -> [[String]] {
            browser.lines.map { $0.split(separator: ";").map(String.init) }.filter {
                $0.first == sign && $0.count > 3 && $0[3] == AvahiDaemon.escaped(name)
            }
        }

        @Test func `Avahi sees what Divan announces, and sees it leave`() async throws {
            let lab = try await NetworkLab("ann", "bob")
            let avahi = try await AvahiDaemon(lab, on: "bob")
            let browser = try avahi.browse()
            let divan = try await lab.divan(on: "ann")
            let names = [
                "Ann's notes", "Zo\u{EB}. 2.0 \\ \u{2615}", String(repeating: "n", count: 63),
            ]
            for (port, name) in zip(1_001..., names) {
                try await divan.announce(name, port: port, "v=2", "path=/my notes")
            }
            for (port, name) in zip(1_001..., names) {
                await eventually {
                    Set(found(browser, "=", name).map { $0[2] }) == ["IPv4", "IPv6"]
                }
                let words = try #require(found(browser, "=", name).first { $0[2] == "IPv4" })
                // Which of the host's addresses it tells depends on which it has learnt first.
                #expect(
                    ["192.0.2.1", "2001:db8::1"].contains(words[7])
                        || words[7].hasPrefix("fe80:"), "\(words[7])")
                #expect(words[8] == "\(port)")
                #expect(words[9].contains(#""v=2""#) && words[9].contains(#""path=/my notes""#))
            }
            let start = ContinuousClock.now
            divan.withdraw()
            await eventually { found(browser, "-", names[2]).count == 2 }
            divan.end()
            await eventually { names.allSatisfy { found(browser, "-", $0).count == 2 } }
            // Without a goodbye Avahi would keep them for an hour and more.
            #expect(ContinuousClock.now - start < .seconds(60))
        }

        @Test func `Divan finds what Avahi publishes, and sees it leave`() async throws {
            let lab = try await NetworkLab("ann", "bob")
            let avahi = try await AvahiDaemon(lab, on: "bob")
            let divan = try await lab.divan(on: "ann")
            divan.browse()
            let name = "B\u{F6}b's. notes \u{2615}"
            let service = try await avahi.publish(name, port: 1_234, "v=2", "path=/my notes")
            let addresses = ["192.0.2.2", "[2001:db8::2]"]
            await eventually { divan.services.first?.addresses == addresses }
            let found = try #require(divan.services.first)
            #expect(found.name == name)
            #expect(found.host == "foreign.local")
            #expect(found.port == 1_234)
            #expect(Set(found.text) == ["v=2", "path=/my notes"])
            service.stop()
            let start = ContinuousClock.now
            await eventually { divan.services.isEmpty }
            #expect(ContinuousClock.now - start < .seconds(60))
        }

        @Test func `a name that Avahi has gets a number`() async throws {
            let lab = try await NetworkLab("ann", "bob")
            let avahi = try await AvahiDaemon(lab, on: "bob")
            let service = try await avahi.publish("Notes")
            let divan = try await lab.divan(on: "ann")
            divan.browse()
            try await divan.announce("Notes", port: 2_000)
            #expect(divan.names == ["Notes (2)"])
            await eventually {
                divan.services.map(\.name) == ["Notes", "Notes (2)"]
                    && divan.services.map(\.port) == [1_234, 2_000]
            }
            #expect(!service.hasSaid("collision"))
        }

        @Test func `Avahi renames what Divan has announced before`() async throws {
            let lab = try await NetworkLab("ann", "bob")
            let avahi = try await AvahiDaemon(lab, on: "bob")
            let divan = try await lab.divan(on: "ann")
            divan.browse()
            try await divan.announce("Notes", port: 2_000)
            let service = try await avahi.publish("Notes")
            #expect(service.hasSaid("collision"))
            #expect(service.hasSaid("Established under name 'Notes #2'"))
            await eventually { divan.services.map(\.name) == ["Notes", "Notes #2"] }
            #expect(divan.names == ["Notes"])
        }

        @Test func `Divan shares a host and its port with Avahi, also as another user`()
            async throws
        {
            let lab = try await NetworkLab("ann", "bob")
            let avahi = try await AvahiDaemon(lab, on: "bob")
            let browser = try avahi.browse()
            let root = try await lab.divan(on: "bob")
            let unprivileged = try await lab.divan(on: "bob", as: 65_534)
            let other = try await lab.divan(on: "ann")
            let parties = [root, unprivileged, other]
            for party in parties { party.browse() }
            try await avahi.publish("Avahi")
            let service = try await avahi.publish("Taken")
            try await root.announce("Root")
            try await unprivileged.announce("Unprivileged")
            try await other.announce("Other")
            // The same host has the name already, by another program.
            try await unprivileged.announce("Taken")
            let names = ["Avahi", "Other", "Root", "Taken", "Taken (2)", "Unprivileged"]
            for party in parties {
                await eventually { party.services.map(\.name) == names }
            }
            for name in names {
                await eventually { found(browser, "=", name).contains { $0[1] == "eth0" } }
            }
            service.stop()
            unprivileged.end()
            for party in [root, other] {
                await eventually { party.services.map(\.name) == ["Avahi", "Other", "Root"] }
            }
        }
    }
}
