// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Testing

extension LabTests {
    /// What peers cost on the network, as multiples of a plain pull of the same documents in the same run. It prints what it measures;
    /// `DIVAN_SOAK=1` runs it.
    @Suite(.enabled(if: Soak.isOn, "It measures for minutes; DIVAN_SOAK=1 runs it."))
    struct PeerTrafficTests {
        private static let documents = 10_000
        private static let minutes = 1

        private let tool = TestProgram.path.replacing("DivanTestChild", with: "divan")

        /// Runs a command on a host to its end, and gives what it said.
        @discardableResult
        private func run(_ lab: NetworkLab, on host: String, _ words: [String]) throws -> [String] {
            let program = try lab.start([tool] + words, on: host, isGuarded: false)
            program.process.wait()
            return program.lines
        }

        /// What a host has sent and received: packets and bytes.
        private func traffic(_ lab: NetworkLab, _ host: String) throws -> (packets: Int, bytes: Int)
        {
            let names = ["rx_packets", "tx_packets", "rx_bytes", "tx_bytes"]
            let files = names.map { "/sys/class/net/eth0/statistics/\($0)" }
            let program = try lab.start(["cat"] + files, on: host, isGuarded: false)
            program.process.wait()
            let numbers = program.lines.compactMap { Int($0) }
            try #require(numbers.count == 4, "\(program.lines)")
            return (numbers[0] + numbers[1], numbers[2] + numbers[3])
        }

        private func wait(
            _ program: LabProgram, _ text: String
        ) async throws -> Duration {
            let start = ContinuousClock.now
            await eventually { program.hasSaid(text) }
            try #require(program.hasSaid(text), "\(program.lines)")
            return .now - start
        }

        @Test func `devices find each other soon, and are quiet when nothing happens`() async throws
        {
            let lab = try await NetworkLab("ann", "bob", "carl")
            let folder = lab.folder.path
            let file = "\(folder)/documents.json"
            try (1...Self.documents).map {
                "{\"_id\":\"d\($0)\",\"title\":\"Document \($0)\",\"n\":\($0),\"done\":false}"
            }.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
            for name in ["ann", "bob", "carl"] {
                try FileManager.default.createDirectory(
                    atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
            }
            try run(lab, on: "ann", ["create", "\(folder)/ann/notes.divan"])
            try run(lab, on: "ann", ["import", "\(folder)/ann/notes.divan", file])

            // A plain pull, by a user of a server.
            let server = try lab.start(
                [
                    tool, "serve", "\(folder)/ann", "--host", "192.0.2.1", "--port", "5984",
                    "--user", "ann:wonder-land",
                ],
                on: "ann"
            )
            _ = try await wait(server, "http://")
            var before = try traffic(lab, "carl")
            let start = ContinuousClock.now
            let said = try run(
                lab, on: "carl",
                [
                    "replicate", "http://ann:wonder-land@192.0.2.1:5984/notes",
                    "\(folder)/carl/notes.divan",
                    "--create-target",
                ])
            let pull = ContinuousClock.now - start
            let pulled = try traffic(lab, "carl").bytes - before.bytes
            #expect(pulled > Self.documents, "\(said)")
            server.stop()

            // Paired at an address that is no longer there when they look for each other.
            var ann = try lab.start(
                [tool, "nearby", "\(folder)/ann", "--name", "Ann", "--qr", "notes"], on: "ann")
            _ = try await wait(ann, "divan://")
            let link = try #require(ann.lines.first { $0.hasPrefix("divan://") })
            let secret = "\(folder)/link"
            try (link + "\n").write(toFile: secret, atomically: true, encoding: .utf8)
            let pairing = try lab.start(
                ["sh", "-c", "\"$@\" < \(secret)", "sh", tool, "pair", "-", "\(folder)/bob"]
                    + ["--name", "Bob"], on: "bob", isGuarded: false)
            pairing.process.wait()
            ann.stop()
            for words in [["del", "192.0.2.1/24"], ["add", "192.0.2.91/24"]] {
                try lab.ip("address", words[0], words[1], "dev", "eth0", on: "ann")
            }
            try lab.ip("address", "del", "2001:db8::1/64", "dev", "eth0", on: "ann")
            ann = try lab.start([tool, "nearby", "\(folder)/ann", "--port", "6000"], on: "ann")
            _ = try await wait(ann, "looks for its peers")
            // Its name is announced.
            let settled = ContinuousClock.now + .seconds(5)
            await eventually { ContinuousClock.now >= settled }
            before = try traffic(lab, "bob")
            let bob = try lab.start([tool, "nearby", "\(folder)/bob"], on: "bob")
            let sight = try await wait(bob, "Ann: conne")
            _ = try await wait(bob, "Ann: up to date")
            let synced = try traffic(lab, "bob").bytes - before.bytes

            let quiet = ContinuousClock.now + .seconds(90)
            await eventually { ContinuousClock.now >= quiet }
            before = try traffic(lab, "bob")
            let end = ContinuousClock.now + .seconds(60 * Self.minutes)
            await eventually { ContinuousClock.now >= end }
            let after = try traffic(lab, "bob")
            let packets = (after.packets - before.packets) / Self.minutes
            let bytes = (after.bytes - before.bytes) / Self.minutes
            print(
                """
                PeerTraffic, \(Self.documents) documents: a plain pull takes \(pull) and \(pulled) bytes. From the start \
                of a device to first sight by multicast alone: \(sight), \(sight / pull) times that. The first pull from a \
                peer: \(Double(synced) / Double(pulled)) times its bytes. Idle, a device sends and receives \
                \(packets) packets and \(bytes) bytes a minute: \(Double(bytes) / Double(pulled)) of a pull.
                """)
            #expect(sight < .seconds(10))
            #expect(bytes < 100_000)
            ann.stop()
            bob.stop()
        }
    }
}
