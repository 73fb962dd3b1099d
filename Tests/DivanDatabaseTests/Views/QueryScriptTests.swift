// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

@Suite struct QueryScriptTests {
    @Test(arguments: GoldenScript.all(in: "queries"))
    func `queries of a view give what their scripts say`(script: GoldenScript) throws {
        try script.run(with: QueryInterpreter(database: Database.inMemory()))
    }
}

/// The commands of `Tests/Scripts/queries`. Keys are JSON without spaces.
///
///     doc a 1 "x"                   a document that emits the keys 1 and "x"
///     doc a 1 value=3               … with this value
///     reduce sum                    the reduce of the view: count, sum, statistics
///     collation raw                 the collation of the view
///     query start=1 end=2 …         prints a row a line: key, document, value
private struct QueryInterpreter: ScriptInterpreter {
    let database: Database
    private var version = 0
    private var reduce: Reduce?
    private var collation = Collation.unicode

    init(database: Database) { self.database = database }

    mutating func run(_ command: ScriptCommand) throws -> [String] {
        let first = command.arguments.first ?? ""
        switch command.name {
        case "doc": try save(command)
        case "delete": try database.delete(DocumentID(first))
        case "reduce": reduce = try Self.reduce(command)
        case "collation": collation = try Self.collation(command)
        case "query": return try query(command)
        default: throw ScriptCommand.Unknown(command)
        }
        return []
    }

    private func save(_ command: ScriptCommand) throws {
        let id = command.arguments.first ?? ""
        let document =
            try database.document(withID: DocumentID(id))?.toMutable()
            ?? MutableDocument(id: DocumentID(id))
        let keys = try command.arguments.dropFirst().map(Self.json)
        document.set(JSONValue.array(keys), forKey: "keys")
        let value = try command.options["value"].map(Self.json)
        document.set(value ?? JSONValue.null, forKey: "value")
        try database.save(document)
    }

    private static func json(_ text: String) throws -> JSONValue { try JSONParser.parse(text) }

    private static func reduce(_ command: ScriptCommand) throws -> Reduce {
        switch command.arguments.first {
        case "count": .count
        case "sum": .sum
        case "statistics": .statistics
        default: throw ScriptCommand.Unknown(command)
        }
    }

    private static func collation(_ command: ScriptCommand) throws -> Collation {
        guard let collation = command.arguments.first.flatMap({ Collation(rawValue: $0) }) else {
            throw ScriptCommand.Unknown(command)
        }
        return collation
    }

    private mutating func query(_ command: ScriptCommand) throws -> [String] {
        let view = database.view(named: "script")
        if view.collation != collation { view.collation = collation }
        view.setMap(version: reduce == nil ? "map" : command.name, reduce: reduce) {
            document, emit in
            for key in document["keys"].value?.array ?? [] { emit(key, document["value"]) }
        }
        let words = Set(command.arguments)
        var query = view.query()
        query.startKey = try command.options["start"].map(Self.json)
        query.endKey = try command.options["end"].map(Self.json)
        query.startKeyDocumentID = command.options["start-doc"].map { DocumentID($0) }
        query.endKeyDocumentID = command.options["end-doc"].map { DocumentID($0) }
        query.keys = try command.options["keys"].map { try Self.json($0).array ?? [] }
        query.prefixMatchLevel = try Self.number(command, "prefix") ?? 0
        query.skip = try Self.number(command, "skip") ?? 0
        query.limit = try Self.number(command, "limit")
        query.groupLevel = try Self.number(command, "level") ?? 0
        if words.contains("group") { query.grouping = .exact }
        query.descending = words.contains("descending")
        query.mapOnly = words.contains("map")
        query.inclusiveStart = !words.contains("after-start")
        query.inclusiveEnd = !words.contains("before-end")
        return try query.run().map { row in
            [row.key.description, row.sourceDocumentID?.text, row.value?.description]
                .compactMap(\.self).joined(separator: "  ")
        }
    }

    private static func number(_ command: ScriptCommand, _ name: String) throws -> Int? {
        guard let text = command.options[name] else { return nil }
        guard let number = Int(text) else { throw ScriptCommand.Unknown(command) }
        return number
    }
}
