// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

@Suite struct ValidationTests {
    private let database: Database

    init() throws { database = try Database.inMemory() }

    /// Lets nothing pass that has a property `bad`.
    private func refuseBad() {
        database.setValidation(named: "no bad ones") { revision, context in
            if revision["bad"].exists { throw context.rejection("Bad ones are not welcome.") }
        }
    }

    private func error<T>(_ body: () throws -> T) throws -> DatabaseError {
        do { _ = try body() } catch { return try #require(error as? DatabaseError) }
        throw Whim()
    }

    @Test func `a refused revision is forbidden with the app's sentence`() throws {
        refuseBad()
        let error = try error { try database.create("a", ["bad": 1]) }
        #expect(error.code == .forbidden)
        #expect(error.message == "Bad ones are not welcome.")
        #expect(error.documentID == "a")
        #expect(error.revisionID?.generation == 1)
        #expect(try database.revisionTree(of: "a") == nil)
        #expect(try database.lastSequence == 0)
        try database.create("a", ["good": 1])
        #expect(try database.problems() == [])
    }

    @Test func `every kind of new revision is looked at before it is written`() throws {
        let first = try database.create("a", ["n": 1])
        let second = try database.update("a") { $0["n"] = 2 }
        try database.put("a", ["n": 3], parent: first.revisionID, options: .allowConflict)
        let conflict = try #require(try database.conflict(of: "a"))
        let tree = try database.revisionTree(of: "a")
        let sequence = try database.lastSequence
        database.setValidation(named: "none") { _, context in throw context.rejection() }

        #expect(code { try database.create("b") } == .forbidden)
        #expect(code { try database.create("b", ["n": 1]) } == .forbidden)
        #expect(code { try database.update("a") { $0["n"] = 4 } } == .forbidden)
        #expect(code { try database.save(second.toMutable().edited()) } == .forbidden)
        #expect(code { try database.delete("a") } == .forbidden)
        #expect(code { try database.put("a", [:], parent: second.revisionID) } == .forbidden)
        #expect(code { try database.put("b", [:], parent: nil) } == .forbidden)
        #expect(
            code { try database.putExistingRevision("a", [:], history: ["9-x"]) } == .forbidden)
        #expect(
            code { try database.putExistingRevision("b", [:], history: ["1-x"]) } == .forbidden)
        for resolution in [.delete, .keep(conflict.winner), .save([:])] as [ConflictResolution] {
            #expect(code { try database.resolve(conflict, by: resolution) } == .forbidden)
        }
        #expect(try database.revisionTree(of: "a") == tree)
        #expect(try database.revisionTree(of: "b") == nil)
        #expect(try database.lastSequence == sequence)
        #expect(try database.problems() == [])
    }

    @Test func `what adds no revision is not looked at`() throws {
        let first = try database.create("a", ["n": 1])
        try database.putExistingRevision("a", ["n": 0], history: ["1-0"])
        database.setValidation(named: "none") { _, context in throw context.rejection() }
        #expect(try !database.putExistingRevision("a", ["n": 0], history: ["1-0"]))
        #expect(try database.save(first.toMutable()).document == first)
        try database.putLocalDocument("l", ["n": 1])
        try database.purge("a", revisions: ["1-0"])
        try database.compact()
        try database.purge("a")
    }

    @Test func `a function sees what the revision was made from and what is current`() throws {
        let seen = Record<String>()
        database.setValidation(named: "watch") { revision, context in
            seen.append(
                [
                    revision.isDeleted ? "deletes" : revision.toJSON(),
                    context.oldRevision.map { $0.isDeleted ? "deleted" : $0.toJSON() } ?? "none",
                    context.currentRevision?.toJSON() ?? "none",
                    context.isLocal ? "local" : "arrived",
                ].joined(separator: " "))
        }
        let first = try database.create("a", ["n": 1])
        let second = try database.update("a") { $0["n"] = 2 }
        try database.put("a", ["n": 3], parent: first.revisionID, options: .allowConflict)
        try database.putExistingRevision(
            "a", ["n": 4], history: ["4-d", "3-c", second.revisionID, first.revisionID])
        try database.putExistingRevision("a", ["n": 7], history: ["7-g"])
        try database.delete("a")
        try database.purge("a")
        try database.delete(database.create("a", ["n": 8]))
        try database.create("a", ["n": 9])
        let winner = seen.all[3].split(separator: " ")[2]
        #expect(
            seen.all == [
                #"{"n":1} none none local"#,
                #"{"n":2} {"n":1} {"n":1} local"#,
                #"{"n":3} {"n":1} {"n":2} local"#,
                // Its parent is not here: the newest ancestor that is.
                #"{"n":4} {"n":2} \#(winner) arrived"#,
                #"{"n":7} none {"n":4} arrived"#,
                #"deletes {"n":7} {"n":7} local"#,
                #"{"n":8} none none local"#,
                #"deletes {"n":8} {"n":8} local"#,
                #"{"n":9} deleted none local"#,
            ])
    }

    @Test func `an old revision whose body is gone is absent`() throws {
        let first = try database.create("a", ["n": 1])
        try database.update("a") { $0["n"] = 2 }
        try database.compact()
        let seen = Record<Bool>()
        database.setValidation(named: "watch") { _, context in
            seen.append(context.oldRevision == nil && context.currentRevision != nil)
        }
        try database.put("a", ["n": 3], parent: first.revisionID, options: .allowConflict)
        #expect(seen.all == [true])
    }

    @Test func `changed keys are those added, changed and removed`() throws {
        let seen = Record<[String]>()
        let changes = Record<String>()
        database.setValidation(named: "watch") { _, context in
            seen.append(context.changedKeys)
            context.forEachChange { key, old, new in
                changes.append("\(key) \(old.int ?? -1) \(new.int ?? -1)")
            }
        }
        try database.create("a", ["same": 1, "changed": 1, "gone": 1])
        try database.update("a") { document in
            document["changed"] = 2
            document["gone"] = nil
            document["new"] = 3
        }
        #expect(seen.all == [["changed", "gone", "same"], ["changed", "gone", "new"]])
        #expect(changes.all.suffix(3) == ["changed 1 2", "gone 1 -1", "new -1 3"])
    }

    @Test func `the stubs of attachments can be seen`() throws {
        database.setValidation(named: "small attachments") { revision, context in
            let stubs = revision.body["_attachments"]
            for name in stubs?.keys ?? [] where stubs?[name]?["length"]?.int64 ?? 0 > 1_000 {
                throw context.rejection("The attachment \(name) is too large.")
            }
            if context.changedKeys.contains("_attachments"), context.isLocal {
                throw context.rejection("No new attachments here.")
            }
        }
        func arrive(_ length: Int) throws {
            let content = Base64.encode([UInt8](repeating: 7, count: length))
            try database.putExistingRevision(
                "a", ["_attachments": ["photo": ["data": .string(content)]]], history: ["1-a"])
        }
        #expect(try error { try arrive(1_001) }.message == "The attachment photo is too large.")
        try arrive(1_000)
        try database.update("a") { $0["caption"] = "Me" }
    }

    @Test func `functions are replaced, found and removed by name`() throws {
        refuseBad()
        #expect(database.validation(named: "no bad ones") != nil)
        #expect(database.validation(named: "other") == nil)
        #expect(database.validationNames == ["no bad ones"])
        database.setValidation(named: "no bad ones") { revision, context in
            if revision["worse"].exists { throw context.rejection() }
        }
        try database.create("a", ["bad": 1])
        #expect(code { try database.create("b", ["worse": 1]) } == .forbidden)
        database.removeValidation(named: "no bad ones")
        database.removeValidation(named: "no bad ones")
        try database.create("b", ["worse": 1])
        #expect(database.validationNames == [])
    }

    @Test func `functions are asked in the order of their names until one refuses`() throws {
        let asked = Record<String>()
        for name in ["c", "a", "b"] {
            database.setValidation(named: name) { _, context in
                asked.append(name)
                if name == "b" { throw context.rejection("\(name) refuses.") }
            }
        }
        #expect(try error { try database.create("d") }.message == "b refuses.")
        #expect(asked.all == ["a", "b"])
    }

    @Test func `functions hold for every handle and are not stored`() throws {
        let sandbox = Sandbox()
        let (one, other) = (try sandbox.database(), try sandbox.database())
        one.setValidation(named: "none") { _, context in throw context.rejection() }
        #expect(code { try other.create("a") } == .forbidden)
        one.close()
        #expect(code { try other.create("a") } == .forbidden)
        other.close()
        try sandbox.database().create("a")
    }

    @Test func `another error is a refusal with its description`() throws {
        database.setValidation(named: "whims") { revision, _ in
            if revision["whim"].exists { throw Whim() }
            if revision["gone"].exists { throw DatabaseError(.io, "The rules are offline.") }
        }
        let refusal = try error { try database.create("a", ["whim": 1]) }
        #expect(refusal.code == .forbidden)
        #expect(refusal.message == "Whim()")
        #expect(refusal.underlying as? Whim == Whim())
        #expect(
            try error { try database.create("a", ["gone": 1]) }.message == "The rules are offline.")
        #expect(try database.revisionTree(of: "a") == nil)
    }

    @Test func `a batch may catch a refusal and go on`() throws {
        refuseBad()
        let document = MutableDocument(["bad": 1], id: "b")
        try database.inBatch {
            try database.create("a")
            #expect(code { try database.save(document) } == .forbidden)
            try database.create("c")
        }
        #expect(document.hasUnsavedChanges)
        #expect(document.revisionID == nil)
        #expect(try database.allDocuments().map(\.id) == ["a", "c"])
        document["bad"] = nil
        try database.save(document)
        #expect(try database.problems() == [])
    }

    @Test func `a document that exists is a conflict and not a matter of validation`() throws {
        try database.create("a", ["n": 1])
        let asked = Record<String>()
        database.setValidation(named: "watch") { revision, _ in asked.append(revision.id.text) }
        #expect(code { try database.create("a", ["n": 2]) } == .conflict)
        #expect(asked.all == [])
    }

    @Test func `a function reads what the transaction has done so far`() throws {
        let database = database
        database.setValidation(named: "unique names") { revision, context in
            try database.forEachDocument { row in
                let other = try database.document(withID: row.id)
                if row.id != revision.id, other?["name"].value == revision["name"].value {
                    throw context.rejection("The name is taken.")
                }
            }
        }
        try database.create("a", ["name": "Ann"])
        try database.inBatch {
            try database.create("b", ["name": "Bob"])
            let refusal = try error { try database.create("c", ["name": "Bob"]) }
            #expect(refusal.message == "The name is taken.")
        }
        #expect(try database.documentCount == 2)
    }

    @Test func `a function cannot write to its database`() throws {
        let database = database
        let codes = Record<DatabaseError.Code?>()
        database.setValidation(named: "writer") { revision, _ in
            codes.append(code { try database.create("log-\(revision.id)") })
            codes.append(code { try database.inBatch { try database.delete("a") } })
            codes.append(code { try database.putLocalDocument("l", [:]) })
            codes.append(code { try database.setRevisionBodyLimit(3) })
            codes.append(code { try database.compact() })
            if revision["fails"].exists { try database.create("log") }
        }
        try database.create("a")
        #expect(
            codes.all == [
                .databaseBusy, .databaseBusy, .databaseBusy, .databaseBusy, .databaseBusy,
            ])
        #expect(code { try database.create("b", ["fails": 1]) } == .databaseBusy)
        database.removeValidation(named: "writer")
        #expect(try database.allDocuments().map(\.id) == ["a"])
        try database.create("b")
        #expect(try database.problems() == [])
    }

    @Test func `a slow function is told of while reads go on`() throws {
        let database = database
        try database.create("before")
        let lines = Record<String>()
        let (told, goOn) = (Gate(), Gate())
        database.warnOfSlowValidation(after: .milliseconds(20)) { line in
            lines.append(line)
            told.open()
        }
        database.setValidation(named: "ponderer") { revision, _ in
            if revision.id == "slow" { goOn.wait() }
        }
        let write = Running { try database.create("slow") }
        #expect(told.wait())
        #expect(try database.document(withID: "before") != nil)
        #expect(try database.document(withID: "slow") == nil)
        goOn.open()
        #expect(try write.value()?.id == "slow")
        #expect(lines.all.count == 1)
        #expect(lines.all.first?.contains("'ponderer'") == true)
        #expect(lines.all.first?.contains("'slow'") == true)
        // The next one is watched again.
        #expect(try database.create("quick").id == "quick")
    }

    @Test func `functions come and go while others write`() throws {
        let database = database
        let writers = (0..<4).map { writer in
            Running {
                var refused = 0
                for number in 0..<100 {
                    if code({ try database.create("\(writer)-\(number)") }) != nil { refused += 1 }
                }
                return refused
            }
        }
        for round in 0..<200 {
            database.setValidation(named: "none") { _, context in throw context.rejection() }
            if round % 2 == 0 { database.removeValidation(named: "none") }
        }
        let refused = try writers.reduce(0) { $0 + (try $1.value() ?? 0) }
        #expect(try database.documentCount == 400 - refused)
        #expect(try database.problems() == [])
    }
}

extension MutableDocument {
    fileprivate func edited() -> MutableDocument {
        self["edited"] = true
        return self
    }
}
