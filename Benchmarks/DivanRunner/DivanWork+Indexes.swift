// SPDX-License-Identifier: Apache-2.0

import BenchmarkInput
import Divan
import DivanJavaScript
import Foundation

/// The workloads on views. All but the builds make their index before the clock starts.
extension DivanWork {
    /// How many rows a range of `query_index` has.
    private static let rowsOfRange = 100

    /// Runs a workload by name; nil for one that is not about indexes.
    func runIndexWork(_ work: String, on database: Database) throws -> Timing? {
        switch work {
        case "index_map": return try buildViews(database, count: 1)
        case "index_map_ten": return try buildViews(database, count: 10)
        case "index_javascript": return try buildScripts(database, count: 1)
        case "index_javascript_ten": return try buildScripts(database, count: 10)
        case "index_javascript_jit": return try buildScripts(database, count: 1, usesJIT: true)
        case "index_tenth": return try buildViews(database, count: 1, ofTenths: true)
        case "index_tenth_ten": return try buildViews(database, count: 10, ofTenths: true)
        case "index_update": return try update(byEmail(database), of: database)
        case "index_update_sum": return try update(agesByEmail(database), of: database)
        case "index_update_reduce": return try update(tenAges(database), of: database)
        case "property_update":
            try database.createIndex(PropertyIndex(on: "age"))
            return try update(of: database) {
                try database.updateIndexes()
                return input.count
            }
        case "query_index": return try queryRanges(database)
        case "reduce_range": return try reduceRanges(database)
        case "reduce_after_edit": return try reduceAfterEdits(database)
        default: return nil
        }
    }

    // MARK: - Building

    /// Views on one text each; several are built in one pass over the documents. Either each has all documents,
    /// or each its own tenth of them, as views of an app have that are for one kind of document.
    private func buildViews(
        _ database: Database, count: Int, ofTenths: Bool = false
    ) throws -> Timing {
        let views = (0..<count).map { number in
            let view = database.view(named: "by email \(number)")
            if ofTenths {
                view.setMap(version: "1") { person, emit in
                    guard person.int(forKey: "age") % 10 == number else { return }
                    emit(person["email"], nil)
                }
            } else {
                view.setMap(version: "1") { person, emit in emit(person["email"], nil) }
            }
            return view
        }
        return try measuring {
            try views[0].updateIndex()
            return try views.reduce(0) { try $0 + $1.totalRows }
        }
    }

    /// The same views in JavaScript, in one design document. The processes that run it have ended before the clock stops, so that
    /// their CPU time counts. The program is `divan-javascript` beside this one, or what `DIVAN_JAVASCRIPT` names.
    private func buildScripts(
        _ database: Database, count: Int, usesJIT: Bool = false
    ) throws -> Timing {
        var limits = JavaScriptLimits()
        limits.usesJIT = usesJIT
        let runtime = JavaScriptRuntime(
            program: ProcessInfo.processInfo.environment["DIVAN_JAVASCRIPT"], limits: limits)
        var views: JSONObject = [:]
        for number in 0..<count {
            views["v\(number)"] = [
                "map": .string(
                    "function(doc) { emit(doc.email\(number == 0 ? "" : " + \(number)"), null) }")
            ]
        }
        try database.save(MutableDocument(["views": .object(views)], id: "_design/bench"))
        database.designDocuments.enable(runtime)
        let view = try database.designDocuments.view("bench/v0")
        return try measuringWithChildren {
            try view.updateIndex()
            runtime.close()
            return try view.totalRows
        }
    }

    /// What an index adds to a thousand changed documents: rounds of both, less as many of the changes alone.
    ///
    /// The log is moved into the file now and then, by whichever commit comes then. So the time of an update
    /// by itself may have the moving of what the documents wrote, or none of what it wrote itself.
    private func update(_ view: DatabaseView, of database: Database) throws -> Timing {
        try update(of: database) {
            try view.updateIndex()
            return try view.totalRows
        }
    }

    private func update(of database: Database, index: () throws -> Int) throws -> Timing {
        let alone = try measuring {
            for round in 0..<operations { try edit(database, seed: operations + round) }
            return 0
        }
        _ = try index()
        var whole = try measuring {
            var rows = 0
            for round in 0..<operations {
                try edit(database, seed: round)
                rows = try index()
            }
            return rows
        }
        whole.cpu -= alone.cpu
        whole.wall -= alone.wall
        return whole
    }

    private func edit(_ database: Database, seed: Int) throws {
        var numbers = SeededNumbers(seed: UInt64(seed) + 3)
        try database.write { transaction in
            for _ in 0..<1000 {
                try transaction.update(input.documentID(numbers.next(below: input.count))) {
                    person in
                    person.set((person["email"].string ?? "") + "x", forKey: "email")
                    person.set(person.int(forKey: "age") + 1, forKey: "age")
                }
            }
        }
    }

    // MARK: - Asking

    private func byEmail(_ database: Database) -> DatabaseView {
        let view = database.view(named: "by email")
        view.setMap(version: "1") { person, emit in emit(person["email"], nil) }
        return view
    }

    /// The same rows with a number each, and its sum.
    private func agesByEmail(_ database: Database) -> DatabaseView {
        let view = database.view(named: "ages by email")
        view.setMap(version: "1", reduce: .sum) { person, emit in
            emit(person["email"], person.int(forKey: "age"))
        }
        return view
    }

    /// Ten rows a document, so that a hundred thousand documents make a million of them.
    private func tenAges(_ database: Database) -> DatabaseView {
        let view = database.view(named: "ten ages")
        view.setMap(version: "1", reduce: .sum) { person, emit in
            let age = person.int(forKey: "age")
            let zip = person["address"]["zip"].string.flatMap { Int($0) } ?? 0
            for number in 0..<10 { emit(JSONValue.integer(Int64(zip * 10 + number)), age) }
        }
        return view
    }

    /// Ranges of a hundred rows, key and ID of each: as many rows as operations.
    private func queryRanges(_ database: Database) throws -> Timing {
        let view = byEmail(database)
        try view.updateIndex()
        var numbers = SeededNumbers(seed: 5)
        let starts = (0..<max(1, operations / Self.rowsOfRange)).map { _ in
            input.withText(numbers.next(below: input.count)) { text in
                (try? PackedValue(parsing: text))?["email"]?.string ?? ""
            }
        }
        var rows = 0
        var timing = try measuring {
            var sum = 0
            for start in starts {
                var query = view.query(.range(from: .string(start)))
                query.limit = Self.rowsOfRange
                for row in try query.run() {
                    rows += 1
                    sum +=
                        (row.key.string?.utf8.count ?? 0) + (row.documentID?.text.utf8.count ?? 0)
                }
            }
            return sum
        }
        timing.units = rows
        return timing
    }

    private func reduceRanges(_ database: Database) throws -> Timing {
        let view = tenAges(database)
        try view.updateIndex()
        var numbers = SeededNumbers(seed: 6)
        return try measuring {
            var sum = 0
            for _ in 0..<operations { sum += try reduceSomeRange(of: view, &numbers) }
            return sum
        }
    }

    /// One document changed and the index made anew for it, then a reduced range.
    private func reduceAfterEdits(_ database: Database) throws -> Timing {
        let view = tenAges(database)
        try view.updateIndex()
        var numbers = SeededNumbers(seed: 8)
        var whole = Timing(cpu: 0, wall: 0, result: 0)
        for _ in 0..<operations {
            try database.update(input.documentID(numbers.next(below: input.count))) { person in
                person.set(person.int(forKey: "age") + 1, forKey: "age")
            }
            let part = try measuring { try reduceSomeRange(of: view, &numbers) }
            whole.cpu += part.cpu
            whole.wall += part.wall
            whole.result += part.result
        }
        return whole
    }

    private func reduceSomeRange(of view: DatabaseView, _ numbers: inout SeededNumbers) throws
        -> Int
    {
        let ends = [numbers.next(below: 1_000_000), numbers.next(below: 1_000_000)].sorted()
        let range = KeySelection.range(
            from: .integer(Int64(ends[0])), through: .integer(Int64(ends[1])))
        return try view.query(range).run().first?.value?.int64.map { Int($0) } ?? 0
    }
}
