// SPDX-License-Identifier: Apache-2.0

import DivanDesign
import DivanJSON

/// Runs design documents whose functions are names of properties, for tests that need no script: a map function emits the
/// property, one of a search index has it as the fields `default` and `plain`, of which the first is a facet, and a filter lets through what has more of it than the query's `than`.
final class PathRuntime: ScriptRuntime, ScriptProcesses {
    let languages: NameSet
    let mapsManyDocuments = false
    var server: ScriptServer { ScriptServer(self) }

    init(_ languages: NameSet = ["path"]) { self.languages = languages }

    private struct Process: ScriptProcess {
        let program: ScriptProgram

        func ask(_ lines: [UInt8], count: Int) throws(ScriptError) -> [ScriptAnswer] {
            var answers: [ScriptAnswer] = []
            for line in lines.split(separator: UInt8(ascii: "\n")) {
                let command = (try? JSONParser.parse(Array(line)))?.array ?? []
                var answer = ScriptAnswer()
                _ = try answer.take(Array(self.answer(command).description.utf8))
                answers.append(answer)
            }
            return answers
        }

        private func learned(_ name: String) -> [[JSONValue]] {
            program.commands.compactMap { (try? JSONParser.parse($0))?.array }
                .filter { $0.first?.string == name }
        }

        private func answer(_ command: [JSONValue]) -> JSONValue {
            switch command.first?.string {
            case "map_doc":
                return .array(
                    learned("add_fun").map { function in
                        let key = command[1][function[1].string ?? ""] ?? .null
                        return [[key, .null]]
                    })
            case "index_doc":
                return .array(
                    learned("add_fun").map { function in
                        let value = command[1][function[1].string ?? ""] ?? .null
                        return [
                            ["default", value, ["store": true, "facet": true]],
                            ["plain", value, [:]],
                        ]
                    })
            case "nouveau_index_doc":
                return .array(
                    learned("add_fun").map { function in
                        let value = command[1][function[1].string ?? ""] ?? .null
                        return [
                            ["@type": "double", "name": "default", "value": value, "store": true]
                        ]
                    })
            case "ddoc":
                let filters = learned("ddoc").first?[3]["filters"]
                let path = filters?[command[2][1]?.string ?? ""]?.string ?? ""
                let than = Int(command[3][1]?["query"]?["than"]?.string ?? "") ?? 0
                let documents = command[3][0]?.array ?? []
                return [true, .array(documents.map { .bool(Int($0[path]?.int64 ?? 0) > than) })]
            default: return true
            }
        }
    }

    func withProcess<Result>(
        for program: ScriptProgram,
        _ body: (any ScriptProcess) throws(ScriptError) -> Result
    ) throws(ScriptError) -> Result {
        for command in program.commands {
            let name = (try? JSONParser.parse(command))?[0]?.string
            guard name != nil else { throw .workerFailed }
        }
        return try body(Process(program: program))
    }
}
