// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

/// Many edges and their hub through what happens to machines: the network goes, they are started again, the hub is
/// replaced, an edge loses its disk, one is copied.
@Suite(.timeLimit(.minutes(20))) struct EdgeFleetTests {
    private static let names = ["orders", "readings"]

    /// What a machine has: the current revision of each document of each database.
    private func state(_ host: EdgeHost) throws -> [String] {
        try Self.names.flatMap { name in
            var rows: [String] = []
            try host.manager.existingDatabase(named: name)?.forEachDocument { row in
                rows.append("\(name)/\(row.id) \(row.revisionID)")
            }
            return rows
        }
    }

    /// Waits until all machines have the same.
    private func expectEqual(_ hub: EdgeHost, _ edges: [EdgeHost], count: Int) async throws {
        try await eventually {
            let all = try state(hub)
            return try all.count == count && edges.allSatisfy { try state($0) == all }
        }
    }

    /// Waits until no edge would send again what it sent, if it were asked now.
    private func expectSaved(_ edges: [EdgeHost]) async throws {
        try await eventually {
            try edges.allSatisfy { edge in
                try Self.names.allSatisfy { try EdgeHost.hasSaved(edge, $0) }
            }
        }
    }

    private func work(_ edges: [EdgeHost], _ round: Int) throws {
        for (number, edge) in edges.enumerated() {
            let id = DocumentID("edge \(number), round \(round)")
            try edge.save(Int64(round), id, in: Self.names[number % 2])
            // All of them edit one document, each in its way, which makes conflicts that end equal.
            if number < 4 { try edge.save(Int64(number), "shared", in: "orders") }
        }
    }

    @Test func `thirty-two edges and their hub are equal in the end, whatever happens on the way`()
        async throws
    {
        let hub = try EdgeHost()
        for n in 0..<20 { try hub.save(Int64(n), DocumentID("reference \(n)"), in: "orders") }
        let edges = try (0..<32).map { _ in
            try EdgeHost(of: hub, Self.names) { $0.interval = .milliseconds(500) }
        }
        try await eventually {
            try edges.allSatisfy { edge in
                try Self.names.allSatisfy { try EdgeHost.isRunning(edge, $0) }
            }
        }
        try work(edges, 1)
        try await expectEqual(hub, edges, count: 20 + 32 + 1)

        // The network goes for all of them, and half of them are started again meanwhile.
        hub.stop()
        try work(edges, 2)
        for edge in edges[..<16] {
            edge.stop()
            try edge.start()
        }
        try hub.start()
        try await expectEqual(hub, edges, count: 20 + 64 + 1)

        // What is purged at all machines stays away, once no edge is about to send it: an edge that has not saved how far
        // it came sends the hub what the hub lacks. What is purged at an edge stays away there, though it is started again:
        // it goes on after its checkpoint.
        edges[0].stop(inOrder: true)
        try edges[0].start()
        try await expectSaved(edges)
        try purge("reference 0", in: [hub] + edges)
        try purge("reference 1", in: [edges[0]])
        edges[0].stop(inOrder: true)
        let backup = edges[0].folder.path + "-backup"
        try FileManager.default.copyItem(atPath: edges[0].folder.path, toPath: backup)
        defer { try? FileManager.default.removeItem(atPath: backup) }
        try edges[0].start()
        try work(edges, 3)
        try await expectEqual(hub, Array(edges[1...]), count: 19 + 96 + 1)
        try await eventually { try state(edges[0]).count == 18 + 96 + 1 }

        // An edge loses its disk and is restored. What was purged before the backup does not come back, and nothing is
        // missing of what came after it.
        edges[0].stop()
        try FileManager.default.removeItem(at: edges[0].folder)
        try FileManager.default.copyItem(atPath: backup, toPath: edges[0].folder.path)
        try edges[0].start()
        try work(edges, 4)
        try await expectEqual(hub, Array(edges[1...]), count: 19 + 128 + 1)
        try await eventually { try state(edges[0]).count == 18 + 128 + 1 }
        for host in [hub] + edges { #expect(try !has("reference 0", host)) }
        #expect(try !has("reference 1", edges[0]))

        // The hub is replaced by an empty one, which gets everything from its edges; and so what one of them had purged
        // for itself comes to it again, as the documentation says.
        try await expectSaved(edges)
        hub.stop()
        try FileManager.default.removeItem(at: hub.folder)
        try hub.start()
        try await expectEqual(hub, edges, count: 19 + 128 + 1)
        for host in [hub] + edges { #expect(try !has("reference 0", host)) }
    }

    private func has(_ id: DocumentID, _ host: EdgeHost) throws -> Bool {
        try host.database("orders").document(withID: id) != nil
    }

    private func purge(_ id: DocumentID, in hosts: [EdgeHost]) throws {
        for host in hosts { try host.database("orders").purge(id) }
    }

    @Test func `two edges that are copies of one directory are two edges`() async throws {
        let hub = try EdgeHost()
        let first = try EdgeHost(of: hub, ["orders"])
        try first.save(1, "a", in: "orders")
        try await eventually { try hub.has(1, "a", in: "orders") }
        first.stop()
        let second = try EdgeHost(of: hub, ["orders"])
        second.stop()
        try FileManager.default.removeItem(at: second.folder)
        try FileManager.default.copyItem(at: first.folder, to: second.folder)
        try first.start()
        try second.start()
        for n in 0..<20 {
            try first.save(Int64(n), DocumentID("first \(n)"), in: "orders")
            try second.save(Int64(n), DocumentID("second \(n)"), in: "orders")
        }
        try await eventually {
            let counts = try [hub, first, second].map { try $0.database("orders").documentCount }
            return counts == [41, 41, 41]
        }
    }
}
