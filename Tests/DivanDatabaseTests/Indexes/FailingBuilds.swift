// SPDX-License-Identifier: Apache-2.0

@testable import DivanDatabase
import DivanStorage
import DivanStorageConformance
import DivanTestSupport
import Testing

/// Builds an index again and again, each time on another database, of which another write fails: until none does.
struct FailingBuilds {
    private let each: Int
    private let step: Int
    private let code: StorageError.Code

    /// - Parameters:
    ///   - each: Each of so many first operations fails once.
    ///   - step: One of so many of the later ones fails.
    ///   - code: How they fail.
    init(each: Int, thenEach step: Int, with code: StorageError.Code) {
        self.each = each
        self.step = step
        self.code = code
    }

    /// Runs the builds.
    ///
    /// - Parameters:
    ///   - fill: Fills a database.
    ///   - build: Builds the index, whose error must tell of the disk.
    ///   - check: Uses the database after the failure.
    /// - Returns: The last operation that failed.
    /// - Throws: What the closures throw, but `build` where a write was failed.
    func run(
        fill: (Database) throws -> Void, build: (Database) throws -> Void,
        check: (Database, Comment) throws -> Void
    ) throws -> Int {
        var number = 0
        while true {
            number += number < each ? 1 : step
            let storage = try TestStorage.make()
            let filled = try database(on: storage)
            defer { filled.close() }
            try fill(filled)
            let plan = FaultPlan(failing: number, with: code)
            let database = try database(on: FaultyEngine(storage, plan: plan))
            let result = Result { try build(database) }
            guard plan.hasFailed else {
                try result.get()
                return number
            }
            let error = #expect(throws: DatabaseError.self) { try result.get() }
            #expect(error?.code == (code == .full ? .storageFull : .io))
            try check(database, "operation \(number)")
        }
    }

    private func database(on engine: any StorageEngine) throws -> Database {
        let core = try DatabaseCore(
            name: "full", directory: nil, engine: engine, options: DatabaseOptions())
        return Database(name: "full", core: core, readOnly: false, registration: nil)
    }
}
