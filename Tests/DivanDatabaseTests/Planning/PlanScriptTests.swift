// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

@Suite struct PlanScriptTests {
    @Test(arguments: GoldenScript.all(in: "plans"))
    func `a selector is answered in the way that its script says`(script: GoldenScript) throws {
        try script.run(with: PlanInterpreter(database: Database.inMemory()))
    }
}

/// The commands of `Tests/Scripts/plans`. Selectors are JSON without spaces.
///
///     documents 100                        d00 to d99: n from 0 to 99, kind a to j
///     index kind n                         an index on these properties
///     explain {"kind":"a"} sort=n limit=5  prints how it is answered
///     find {"kind":"a"}                    prints the IDs of what is found
private struct PlanInterpreter: ScriptInterpreter {
    let database: Database

    mutating func run(_ command: ScriptCommand) throws -> [String] {
        switch command.name {
        case "documents": try save(command)
        case "index":
            try database.createIndex(PropertyIndex(named: command.text, on: command.arguments))
        case "explain":
            return try query(command).explain().text.split(separator: "\n").map(String.init)
        case "find": return [try query(command).run().map(\.id.text).joined(separator: " ")]
        default: throw ScriptCommand.Unknown(command)
        }
        return []
    }

    private func save(_ command: ScriptCommand) throws {
        guard let count = command.arguments.first.flatMap({ Int($0) }) else {
            throw ScriptCommand.Unknown(command)
        }
        try database.inBatch {
            for number in 0..<count {
                let kind = String(UnicodeScalar(UInt8(ascii: "a") + UInt8(number % 10)))
                let digits = String(number)
                let zeros = String(repeating: "0", count: max(0, 2 - digits.count))
                let id: DocumentID = "d\(zeros)\(digits)"
                try database.save(
                    MutableDocument(["n": .init(number), "kind": .string(kind)], id: id))
            }
        }
    }

    private func query(_ command: ScriptCommand) throws -> FindQuery {
        guard let selector = command.arguments.first.flatMap({ try? JSONParser.parse($0) })
        else { throw ScriptCommand.Unknown(command) }
        return try database.find(selector: selector) { query in
            if let sort = command.options["sort"] {
                let isDescending = command.arguments.contains("descending")
                query.sort = [SortKey(sort, isDescending: isDescending)]
            }
            query.limit = command.options["limit"].flatMap { Int($0) }
        }
    }
}
