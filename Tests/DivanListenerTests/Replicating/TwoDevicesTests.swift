// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanListener
import DivanTestSupport
import Foundation
import Testing

/// The code in docs/two-devices.md, line for line: `scripts/check-docs` compares the two.
@Suite struct TwoDevicesTests {
    private let folder = FileManager.default.temporaryDirectory
        .appending(path: "divan-two-devices-\(UUID().uuidString)")

    private func serve(in folder: URL) throws -> (Listener, Database) {
        // serve
        let manager = try Manager(directory: folder)
        let notes = try manager.database(named: "notes")
        var options = ListenerOptions()
        options.host = "0.0.0.0"  // for other devices, too
        options.access = .users(["ann": "secret"])
        options.tls = try .selfSigned(keptAt: folder.appending(path: "listener.pem"))
        let listener = Listener(manager, options)  // hold on to it: letting go stops it
        try listener.start()
        if let url = listener.url(of: notes), let fingerprint = listener.fingerprint {
            print(url, fingerprint)  // https://192.168.1.7:49213/notes 3f0c51…
        }
        // end of serve
        return (listener, notes)
    }

    private func sync(in folder: URL, with url: URL, _ fingerprint: String) throws -> (
        Database, push: Replication, pull: Replication
    ) {
        // sync
        let manager = try Manager(directory: folder)
        let notes = try manager.database(named: "notes")
        let (push, pull) = notes.sync(with: url) {
            $0.authenticator = .basic(name: "ann", password: "secret")
            $0.trust = .fingerprints([fingerprint])
        }
        // end of sync
        return (notes, push, pull)
    }

    private func save(_ id: DocumentID, in database: Database) throws {
        try database.save(MutableDocument([:], id: id))
    }

    private func count(_ database: Database) throws -> Int { try database.documentCount }

    @Test(.timeLimit(.minutes(10)))
    func `two programs stay in sync as the page of two devices shows`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let (listener, there) = try serve(in: folder.appending(path: "one"))
        let url = try #require(listener.url(of: there))
        let fingerprint = try #require(listener.fingerprint)
        let (here, push, pull) = try sync(
            in: folder.appending(path: "other"), with: url, fingerprint)
        try save("a", in: here)
        try save("b", in: there)
        try await eventually { try count(here) == 2 && count(there) == 2 }
        #expect(push.lastError == nil)
        #expect(pull.lastError == nil)
        await push.stopAndWait()
        await pull.stopAndWait()
        listener.stop()
    }
}
