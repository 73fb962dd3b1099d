// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import FoundationEssentials
import Testing

/// Listeners of a live document hear of every change and are shown nothing older.
@Suite struct LiveDocumentChangeTests {
    private let sandbox = Sandbox()
    private let database: Database
    private let document: LiveDocument

    init() throws { (database, document) = try sandbox.liveDocument() }

    @Test func `a listener of a live document sees what it is told of`() async throws {
        let path = sandbox.url().path(percentEncoded: false)
        let told = Record<String>()
        let token = try document.addChangeListener { [document] change in
            let isShown =
                change.isPurge
                ? !document.exists : document.currentRevisionID == change.revisionID
            told.append(isShown ? "\(change.source)" : "older than \(change)")
        }
        try document.putProperties(["n": 0])
        await eventually { told.all == ["local"] }
        try await offPool {
            let child = try TestChild("serve", path)
            #expect(child.readLine() == "ready")
            #expect(try child.ask("save a 1")?.hasPrefix("saved") == true)
            #expect(child.finish() == 0)
        }
        await eventually { told.all == ["local", "otherProcess"] }
        _ = try database.purge("a")
        await eventually { told.all == ["local", "otherProcess", "local"] }
        token.remove()
    }

    @Test func `the changes of a live document are a sequence`() async throws {
        let changes = try document.changes
        try document.putProperties(["n": 1])
        var told: [DocumentChange] = []
        for await change in changes {
            #expect(document.currentRevisionID == change.revisionID)
            told.append(change)
            if change.isDeletion { break }
            try document.delete()
        }
        #expect(told.map(\.isDeletion) == [false, true])
    }
}
