// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

@Suite struct ChangesScriptTests {
    @Test(arguments: GoldenScript.all(in: "changes"))
    func `the changes feed is what its scripts say`(script: GoldenScript) throws {
        try script.run(with: ChangesInterpreter(database: Database.inMemory()))
    }
}

/// The commands of `Tests/Scripts/changes`.
///
/// Every block prints the feed after its commands; `feed` prints it from a sequence on or in part.
/// Revisions stored by `merge` have the digests the script gives; those that Divan makes are shown
/// by their generation alone.
private struct ChangesInterpreter: ScriptInterpreter {
    let database: Database
    private var hasFeed = false

    init(database: Database) { self.database = database }

    mutating func run(_ command: ScriptCommand) throws -> [String] {
        let id = command.arguments.first ?? ""
        switch command.name {
        case "create": try database.save(MutableDocument(["by": "create"], id: DocumentID(id)))
        case "edit":
            try database.update(DocumentID(id)) {
                $0["edits"] = Fragment($0.int(forKey: "edits") + 1)
            }
        case "delete": try database.delete(DocumentID(id))
        case "purge" where command.arguments.count == 1: try database.purge(DocumentID(id))
        case "purge": try database.purge(DocumentID(id), revisions: revisions(command))
        case "merge":
            // `merge a 1-x 2-y`: the history oldest first, as the drawings are.
            try database.putExistingRevision(
                DocumentID(id), [:],
                history: revisions(command).reversed(),
                isDeleted: command.options["deleted"] == "yes")
        case "compact": try database.compact()
        case "feed": return try feed(command)
        default: throw ScriptCommand.Unknown(command)
        }
        return []
    }

    mutating func endBlock() -> [String] {
        defer { hasFeed = false }
        if hasFeed { return [] }
        do {
            let problems = try database.verify().map { "verify: \($0)" }
            return try lines(database.changes()) + problems
        } catch { return ["error: \(error)"] }
    }

    private func revisions(_ command: ScriptCommand) -> [RevisionID] {
        command.arguments.dropFirst().map { RevisionID($0) }
    }

    private mutating func feed(_ command: ScriptCommand) throws -> [String] {
        hasFeed = true
        let since = command.options["since"].flatMap { SequenceNumber($0) } ?? 0
        let limit = command.options["limit"].flatMap { Int($0) }
        return try lines(database.changes(since: since, limit: limit))
    }

    private func lines(_ batch: ChangesBatch) -> [String] {
        batch.changes.map { change in
            let revisions = change.revisions.map { revision -> String in
                revision.digest.count >= 32 ? "\(revision.generation)-" : revision.description
            }
            return "\(change.sequence) \(change.id) \(revisions.joined(separator: " "))"
                + (change.isDeleted ? " deleted" : "")
        } + ["last \(batch.lastSequence)"]
    }
}
