// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

@testable import DivanDatabase
@testable import DivanQuery

@Suite struct IndexingScriptTests {
    @Test(arguments: GoldenScript.all(in: "indexing"))
    func `an index is brought up to date as its script says`(script: GoldenScript) throws {
        try script.run(with: IndexingInterpreter(database: Database.inMemory()))
    }
}

/// The commands of `Tests/Scripts/indexing`, of a view that emits each key of a document with its value, and adds them up.
///
///     put a keys=[1,2] value=3        saves a document
///     delete a                        leaves a tombstone
///     purge a                         leaves nothing
///     pass                            brings the index up to date, and prints what it read and wrote
///     rows                            prints the rows, and their sum
///     version                         gives the view another map function
private struct IndexingInterpreter: ScriptInterpreter {
    let database: Database
    private var version = 1

    init(database: Database) { self.database = database }

    private var view: DatabaseView {
        let view = database.view(named: "script")
        view.setMap(version: "\(version)", reduce: .sum) { document, emit in
            for key in document["keys"].value?.array ?? [] { emit(key, document["value"]) }
        }
        return view
    }

    mutating func run(_ command: ScriptCommand) throws -> [String] {
        let id = command.arguments.first ?? ""
        switch command.name {
        case "put":
            let document =
                try database.document(withID: DocumentID(id))?.toMutable()
                ?? MutableDocument(id: DocumentID(id))
            for (key, text) in command.options {
                document.set(try JSONParser.parse(text), forKey: key)
            }
            try database.save(document)
        case "delete": try database.delete(DocumentID(id))
        case "purge": try database.purge(DocumentID(id))
        case "pass": return try pass()
        case "rows": return try rows()
        case "version": version += 1
        default: throw ScriptCommand.Unknown(command)
        }
        return []
    }

    private func pass() throws -> [String] {
        let view = view
        let report = try IndexPass(core: database.core, definitions: [view.definition()]).run()
        let written = report.statistics[view.indexName] ?? IndexingStatistics()
        let record = try database.core.read { try $0.indexRecord(view.indexName) }
        return [
            "read \(report.documents), mapped \(written.documents), wrote \(written.rows) rows; "
                + "through sequence \(record?.lastSequence ?? 0), purge \(record?.lastPurge ?? 0)"
        ]
    }

    private func rows() throws -> [String] {
        var query = view.query()
        query.updateMode = .never
        query.mapOnly = true
        let rows = try query.run().map { row in
            [row.key.description, row.sourceDocumentID?.text, row.value?.description]
                .compactMap(\.self).joined(separator: "  ")
        }
        query.mapOnly = false
        let sum = try query.run().first?.value?.description ?? "nothing"
        return rows + ["sum \(sum)"]
    }
}
