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

    @MainActor final class TaskList {
        private let database: Database
        private let live: LiveQuery<[Task]>

        init(_ database: Database) throws {
            self.database = database
            live = try database.live(Task.self, sortedBy: { $0.title < $1.title })
            live.start()
        }

        var tasks: [Task] { live.rows ?? [] }

        func toggle(_ task: Task) throws {
            try database.update(Task.self, withID: task.id) { $0.isDone.toggle() }
        }
    }

    @MainActor @Test func `a view model of models follows the database and is drawn again`()
        async throws
    {
        let database = try Database.inMemory()
        var first = Task(title: "a")
        try database.save(&first)
        let list = try TaskList(database)
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
        try list.toggle(first)
        await eventually { list.tasks.first?.isDone == true }
        try database.delete(first.id)
        await eventually { list.tasks.map(\.title) == ["b"] }
    }
}
