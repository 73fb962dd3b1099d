// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

extension LabTests {
    /// Divan meets python-zeroconf on one network.
    @Suite struct ZeroconfTests {
        private func start(_ lab: NetworkLab, on host: String, _ words: String...) throws
            -> LabProgram
        {
            let python = try #require(NetworkLab.python)
            let script = NetworkLab.file("zeroconf_party.py")
            return try lab.start([python, script] + words, on: host)
        }

        @Test func `python-zeroconf finds what Divan announces, and sees it leave`() async throws {
            let lab = try await NetworkLab("ann", "bob")
            let browser = try start(lab, on: "bob", "browse", "_divan._tcp")
            let divan = try await lab.divan(on: "ann")
            let name = "Zo\u{EB}'s. notes \u{2615}"
            try await divan.announce(name, port: 1_001, "v=2", "path=/my notes")
            await eventually { browser.hasSaid("+\t\(name)\t1001\t") }
            let words = try #require(browser.lines.last { $0.hasPrefix("+") }).split(
                separator: "\t")
            #expect(words[3].split(separator: ",").contains("192.0.2.1"))
            #expect(words[3].split(separator: ",").contains("2001:db8::1"))
            #expect(Set(words.dropFirst(4)) == ["v=2", "path=/my notes"])
            divan.setText("v=3")
            await eventually { browser.lines.last?.hasSuffix("v=3") ?? false }
            divan.withdraw()
            await eventually { browser.lines.last == "-\t\(name)" }
        }

        @Test func `Divan finds what python-zeroconf announces, and sees it leave`() async throws {
            let lab = try await NetworkLab("ann", "bob")
            let divan = try await lab.divan(on: "ann")
            divan.browse()
            // A dot ends a label for python-zeroconf.
            let name = "B\u{F6}b's notes \u{2615}"
            let service = try start(
                lab, on: "bob", "register", "_divan._tcp", name, "1234", "192.0.2.2", "v=2",
                "path=/my notes")
            await eventually { divan.services.first?.addresses == ["192.0.2.2"] }
            let found = try #require(divan.services.first)
            #expect(found.name == name)
            #expect(found.port == 1_234)
            #expect(Set(found.text) == ["v=2", "path=/my notes"])
            service.stop()
            await eventually { divan.services.isEmpty }
        }

        @Test func `the one that comes later takes another name`() async throws {
            let lab = try await NetworkLab("ann", "bob")
            let divan = try await lab.divan(on: "ann")
            divan.browse()
            try await divan.announce("Notes")
            let words = ["register", "_divan._tcp", "Notes", "1234", "192.0.2.2"]
            let service = try start(
                lab, on: "bob", words[0], words[1], words[2], words[3], words[4])
            await eventually { service.hasSaid("registered") }
            #expect(service.lines == ["registered\tNotes-2"])
            try await divan.announce("Notes-2")
            #expect(divan.names == ["Notes", "Notes-2 (2)"])
            await eventually { divan.services.map(\.name) == ["Notes", "Notes-2", "Notes-2 (2)"] }
        }
    }
}
