// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Observation
import Testing

/// The view model of docs/models.md, compiled, and what its user interface would see.
@Suite struct ModelListTests {
    struct Task: DocumentModel, Identifiable {
        static let documentType: String? = "task"
        var identity = ModelIdentity()
        var title: String
        var isDone = false
    }

    @MainActor @Observable final class TaskList {
        private(set) var tasks: [Task] = []
        private let database: Database

        init(_ database: Database) { self.database = database }

        /// Follows the database until the task that runs it is cancelled.
        func follow() async throws {
            let changes = try database.databaseChanges
            tasks = try await load()
            for await _ in changes { tasks = try await load() }
        }

        func toggle(_ task: Task) async throws {
            try database.update(Task.self, withID: task.id) { $0.isDone.toggle() }
        }

        private func load() async throws -> [Task] {
            let database = database
            return try database.read { _ in try database.models(Task.self) }
                .sorted { $0.title < $1.title }
        }
    }

    @MainActor @Test func `a view model of models follows the database and is drawn again`()
        async throws
    {
        let database = try Database.inMemory()
        var first = Task(title: "a")
        try database.save(&first)
        let list = TaskList(database)
        let following = _Concurrency.Task { try await list.follow() }
        defer { following.cancel() }
        await eventually { list.tasks.map(\.title) == ["a"] }

        let drawnAgain = Flag()
        withObservationTracking {
            _ = list.tasks
        } onChange: {
            drawnAgain.set()
        }
        var second = Task(title: "b")
        try database.save(&second)
        await eventually { list.tasks.map(\.title) == ["a", "b"] }
        #expect(drawnAgain.isSet)
        try await list.toggle(first)
        await eventually { list.tasks.first?.isDone == true }
        try database.delete(first.id)
        await eventually { list.tasks.map(\.title) == ["b"] }
    }
}
