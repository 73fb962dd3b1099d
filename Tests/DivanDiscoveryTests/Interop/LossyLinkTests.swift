// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

extension LabTests {
    /// A network that loses three frames in ten and delays the others by up to a tenth of a second, so that they overtake each other.
    @Suite struct LossyLinkTests {
        private static let seeds = (1...UInt64(Soak.count(test: 1, soak: 20))).map(\.self)

        private func lab(_ seed: UInt64) async throws -> NetworkLab {
            try await NetworkLab("ann", "bob", joint: .relay(loss: 0.3, delay: 0.1, seed: seed))
        }

        @Test(arguments: seeds)
        func `two Divans find each other, and end with two names`(seed: UInt64) async throws {
            let lab = try await lab(seed)
            let ann = try await lab.divan(on: "ann")
            let bob = try await lab.divan(on: "bob")
            for party in [ann, bob] {
                party.browse()
                party.advertise("Notes")
            }
            // Either may get the number, and where probes were lost a name may be given up later.
            await eventually {
                guard let one = ann.names.last, let other = bob.names.last, one != other else {
                    return false
                }
                let names = [one, other].sorted()
                return [ann, bob].allSatisfy { $0.services.map(\.name) == names }
            }
        }

        @Test(arguments: seeds)
        func `Divan and Avahi find each other, and end with two names`(seed: UInt64) async throws {
            let lab = try await lab(seed)
            let avahi = try await AvahiDaemon(lab, on: "bob")
            let browser = try avahi.browse()
            let divan = try await lab.divan(on: "ann")
            divan.browse()
            try await avahi.publish("Notes", port: 1_234)
            try await divan.announce("Notes", port: 2_000)
            await eventually {
                let services = divan.services
                return services.count == 2 && Set(services.map(\.port)) == [1_234, 2_000]
            }
            // That it is found is told by "+". avahi-browse asks for its port next, and where the packets of these few
            // seconds are lost it gives up and never asks again.
            await eventually {
                let name = AvahiDaemon.escaped(divan.names.last ?? "")
                return browser.lines.contains { $0.hasPrefix("+;") && $0.contains(";\(name);") }
            }
        }
    }
}
