// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

@Suite struct ResolutionScriptTests {
    @Test(arguments: GoldenScript.all(in: "resolutions"))
    func `resolutions are what their scripts say`(script: GoldenScript) throws {
        try script.run(with: ResolutionInterpreter(database: Database.inMemory()))
    }
}

/// The commands of `Tests/Scripts/resolutions`, all on one document.
///
/// Every block prints the tree, the current properties and the feed. `conflict` first says what a
/// resolver would see.
private struct ResolutionInterpreter: ScriptInterpreter {
    let database: Database
    private let id: DocumentID = "doc"
    private var isShown = false

    init(database: Database) { self.database = database }

    mutating func run(_ command: ScriptCommand) throws -> [String] {
        switch command.name {
        case "merge":
            // `merge 1-x 2-y n=1`: the history oldest first, as the drawings are.
            try database.putExistingRevision(
                id, properties(command),
                history: command.arguments.reversed().map { RevisionID($0) },
                isDeleted: command.options["deleted"] == "yes")
        case "conflict":
            guard let conflict = try database.conflict(of: id) else { return ["no conflict"] }
            return [
                "winner \(conflict.winner.revisionID) \(conflict.winner.toJSON())"
            ]
                + conflict.others.map { "other \($0.revisionID) \($0.toJSON())" } + [
                    "ancestor \(conflict.ancestorRevisionID ?? "unknown")"
                        + " \(conflict.ancestor?.toJSON() ?? "without body")"
                ]
        case "keep":
            try database.resolveConflicts(
                of: id, keeping: RevisionID(command.arguments.first ?? ""))
        case "save": try resolve(.save(properties(command)))
        case "delete": try resolve(.delete)
        case "latest":
            let key = command.arguments.first ?? ""
            try database.resolveConflicts(of: id, with: .keepLatest(by: key))
        case "fields": try database.resolveConflicts(of: id, with: .mergeFields)
        case "compact": try database.compact()
        default: throw ScriptCommand.Unknown(command)
        }
        return []
    }

    private func resolve(_ resolution: ConflictResolution) throws {
        try database.resolveConflicts(of: id) { _ in resolution }
    }

    private func properties(_ command: ScriptCommand) throws -> JSONObject {
        var properties: JSONObject = [:]
        for (key, json) in command.options where key != "deleted" {
            properties[key] = try JSONParser.parse(Array(json.utf8).span)
        }
        return properties
    }

    mutating func endBlock() -> [String] {
        do {
            let tree = try database.revisionTree(of: id)
            let current = try database.document(withID: id)
            let feed = try database.changes().changes.map { "at \($0.sequence)" }
            return (tree?.drawing(digestLength: 4) ?? []) + [current?.toJSON() ?? "deleted"] + feed
                + (try database.verify().map { "verify: \($0)" })
        } catch { return ["error: \(error)"] }
    }
}
