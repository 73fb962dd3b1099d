// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Observation
import Testing

/// The view model of docs/live-documents.md, compiled, and what its user interface would see.
@Suite struct LiveViewModelTests {
    @MainActor final class TaskModel {
        private let document: LiveDocument

        init(_ document: LiveDocument) { self.document = document }

        var title: String { document.string(forKey: "title") ?? "Untitled" }
        var isDone: Bool { document.bool(forKey: "done") }

        func toggle() async throws {
            try document.update { $0.set(!$0.bool(forKey: "done"), forKey: "done") }
        }
    }

    @MainActor @Test func `a view model shows its document and is drawn again when that changes`()
        async throws
    {
        let database = try Database.inMemory()
        let document = database.makeDocument()
        let model = TaskModel(document)
        #expect(model.title == "Untitled" && !model.isDone)
        try document.putProperties(["title": "Learn Persian"])
        #expect(model.title == "Learn Persian")

        let drawnAgain = Flag()
        withObservationTracking {
            _ = model.isDone
        } onChange: {
            drawnAgain.set()
        }
        try await model.toggle()
        #expect(model.isDone)
        await eventually { drawnAgain.isSet }
        try await model.toggle()
        #expect(!model.isDone && document.currentRevision?.generation == 3)
    }

    @Test func `the recipes for deleting and restoring do what they say`() throws {
        let database = try Database.inMemory()
        let document = database.makeDocument()
        try document.putProperties(["title": "x"])
        try document.update { revision in
            revision.isDeletion = true
            revision.set("Ann", forKey: "deleted_by")
        }
        #expect(document.isDeleted && document["deleted_by"].string == "Ann")
        try document.update { _ in }
        #expect(document.exists && document["title"].string == "x")
        try document.delete()
        #expect(document.userProperties == [:])
        try document.putProperties(
            document.currentRevision?.parentRevision?.userProperties ?? [:])
        #expect(document.exists && document["title"].string == "x")
    }
}
