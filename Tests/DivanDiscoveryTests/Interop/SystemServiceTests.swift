// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Testing

extension LabTests {
    /// Divan announces and finds by the system's service, which is Avahi.
    @Suite struct SystemServiceTests {
        @Test func `what the system's service announces is found by Avahi and by Divan`()
            async throws
        {
            let lab = try await NetworkLab("ann", "bob")
            let avahi = try await AvahiDaemon(lab, on: "ann")
            let browser = try avahi.browse()
            let other = try await lab.divan(on: "bob")
            other.browse()
            let divan = try await avahi.divan()
            let name = "Zo\u{EB}'s. 2.0 \\ \u{2615}"
            try await divan.announce(name, port: 1_001, "v=2", "path=/my notes")
            #expect(divan.names == [name])
            await eventually { other.services.first?.addresses == ["192.0.2.1", "[2001:db8::1]"] }
            let found = try #require(other.services.first)
            #expect(found.name == name)
            #expect(found.host == "foreign.local")
            #expect(found.port == 1_001)
            #expect(Set(found.text) == ["v=2", "path=/my notes"])
            await eventually { browser.hasSaid(AvahiDaemon.escaped(name)) }
            divan.setText("v=3")
            await eventually { other.services.first?.text == ["v=3"] }
            divan.withdraw()
            await eventually { other.services.isEmpty }
            try await divan.announce("Last", port: 1_002)
            await eventually { other.services.map(\.name) == ["Last"] }
            divan.end()
            await eventually { other.services.isEmpty }
        }

        @Test func `the system's service finds what Avahi and Divan announce, and sees them leave`()
            async throws
        {
            let lab = try await NetworkLab("ann", "bob")
            let avahi = try await AvahiDaemon(lab, on: "ann")
            let divan = try await avahi.divan()
            divan.browse()
            let service = try await avahi.publish("B\u{F6}b's. \u{2615}", "v=2", "path=/my notes")
            let other = try await lab.divan(on: "bob")
            try await other.announce("Other", port: 2_000, "v=1")
            await eventually {
                divan.services.map(\.addresses.first) == ["192.0.2.1", "192.0.2.2"]
                    && divan.services.allSatisfy { $0.addresses.count > 1 }
            }
            #expect(divan.services.map(\.name) == ["B\u{F6}b's. \u{2615}", "Other"])
            #expect(divan.services.map(\.port) == [1_234, 2_000])
            #expect(divan.services.first.map { Set($0.text) } == ["v=2", "path=/my notes"])
            other.setText("v=2")
            await eventually { divan.services.last?.text == ["v=2"] }
            service.stop()
            await eventually { divan.services.map(\.name) == ["Other"] }
            other.end()
            await eventually { divan.services.isEmpty }
        }

        @Test func `a name that is taken gets a number from the system's service`() async throws {
            let lab = try await NetworkLab("ann", "bob")
            let avahi = try await AvahiDaemon(lab, on: "ann")
            let other = try await lab.divan(on: "bob")
            try await other.announce("Notes", port: 2_000)
            let divan = try await avahi.divan()
            try await divan.announce("Notes", port: 1_000)
            #expect(divan.names == ["Notes #2"])
            #expect(other.names == ["Notes"])
        }

        @Test func `services are dropped with the daemon, and all is there again when it is back`()
            async throws
        {
            let lab = try await NetworkLab("ann", "bob")
            let avahi = try await AvahiDaemon(lab, on: "ann")
            let other = try await lab.divan(on: "bob")
            other.browse()
            try await other.announce("Other", port: 2_000)
            let divan = try await avahi.divan()
            divan.browse()
            try await divan.announce("Mine", port: 1_000)
            await eventually { divan.services.map(\.name) == ["Mine", "Other"] }
            avahi.stop()
            await eventually { divan.services.isEmpty && other.services.map(\.name) == ["Other"] }
            try await avahi.restart()
            await eventually {
                divan.services.map(\.name) == ["Mine", "Other"]
                    && other.services.map(\.name) == ["Mine", "Other"]
            }
        }

        @Test func `a system without the service, or without its library, is an error`()
            async throws
        {
            let lab = try await NetworkLab("ann")
            let party = [TestProgram.path, "discover", "system"]
            let program = try lab.start(party, on: "ann", isGuarded: false)
            program.process.wait()
            #expect(program.hasSaid("The system's service for DNS-SD does not answer"))
            // What is mounted on a host is seen by that program alone.
            let hiding = """
                for file in $(ldconfig -p | sed -n 's/.*libdns_sd.*=> //p'); do
                    mount --bind /dev/null "$file"
                done
                exec "$@"
                """
            let without = try lab.start(
                ["sh", "-c", hiding, "sh"] + party, on: "ann", isGuarded: false)
            without.process.wait()
            #expect(without.hasSaid("The system has no library for DNS-SD, libdns_sd.so.1"))
        }
    }
}
