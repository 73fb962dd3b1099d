// SPDX-License-Identifier: Apache-2.0

import DivanModel
import DivanTestSupport
import Testing

@Suite struct RevisionTreeScriptTests {
    @Test(arguments: GoldenScript.all(in: "trees"))
    func `trees do what their scripts say`(script: GoldenScript) throws {
        try script.run(with: TreeInterpreter())
    }
}

/// The commands of `Tests/Scripts/trees`.
///
/// Commands that change the tree print it at the end of the block; the others print an answer. The
/// bodies of added revisions lie in rows 1, 2, 3, …
private struct TreeInterpreter: ScriptInterpreter {
    private var tree = RevisionTree()
    private var lastSequence: SequenceNumber = 0
    private var hasChanged = false

    mutating func run(_ command: ScriptCommand) throws -> [String] {
        let before = tree
        let lines = try change(command) ?? answer(command)
        try tree.checkInvariants()
        try checkEncoding()
        if tree != before || command.name == "tree" { hasChanged = true }
        return lines
    }

    mutating func endBlock() -> [String] {
        defer { hasChanged = false }
        guard hasChanged else { return [] }
        return tree.isEmpty ? ["(no revision)"] : tree.drawing()
    }

    /// Runs a command that may change the tree; `nil` if it is none.
    private mutating func change(_ command: ScriptCommand) throws -> [String]? {
        let ids = command.arguments
        switch command.name {
        case "tree":
            tree = RevisionTree()
            lastSequence = 0
            for (index, id) in ids.enumerated() {
                let parent = try index == 0 ? nil : RevisionID(validating: ids[index - 1])
                try insert(
                    RevisionID(validating: id), parent: parent, isTombstone: false, in: command)
            }
            return []
        case "create", "edit", "delete":
            guard let id = ids.last, let first = ids.first else {
                throw ScriptCommand.Unknown(command)
            }
            let parent = try ids.count > 1 ? RevisionID(validating: first) : nil
            let isNew = try insert(
                RevisionID(validating: id), parent: parent, isTombstone: command.name == "delete",
                in: command)
            return isNew ? [] : ["already there"]
        case "merge":
            return try merge(command)
        case "stem":
            guard let depth = ids.first.flatMap({ Int($0) }) else {
                throw ScriptCommand.Unknown(command)
            }
            return rows(tree.stem(to: depth))
        case "purge":
            let result = try tree.purge(leaves: ids.map { try RevisionID(validating: $0) })
            return ["purged: \(list(result.purged))"] + rows(result.sequences)
        default:
            return nil
        }
    }

    @discardableResult
    private mutating func insert(
        _ id: RevisionID, parent: RevisionID?, isTombstone: Bool, in command: ScriptCommand
    ) throws -> Bool {
        let isNew = try tree.insert(
            id, parent: parent, isTombstone: isTombstone, sequence: lastSequence + 1,
            allowConflict: command.options["conflict"] == "allowed")
        if isNew { lastSequence += 1 }
        return isNew
    }

    /// `merge 1-a 2-b 3-c`: the history is written oldest first, as the drawings are.
    private mutating func merge(_ command: ScriptCommand) throws -> [String] {
        let history = try RevisionHistory(
            command.arguments.reversed().map { try RevisionID(validating: $0) })
        let isNew = tree.insert(
            existing: history, isTombstone: command.options["deleted"] == "yes",
            sequence: lastSequence + 1)
        if isNew { lastSequence += 1 }
        return isNew ? [] : ["already there"]
    }

    /// Runs a command that asks something.
    private func answer(_ command: ScriptCommand) throws -> [String] {
        let ids = try command.arguments.map { try RevisionID(validating: $0) }
        switch command.name {
        case "winner": return [tree.winner.map { describe($0) } ?? "none"]
        case "leaves": return tree.leaves.map { describe($0) }
        case "conflicts":
            return [tree.isConflicted ? list(tree.conflicts.map(\.id)) : "none"]
        case "deleted": return [tree.isDeleted ? "yes" : "no"]
        case "history": return [list(tree.history(of: ids[0]))]
        case "ancestor":
            return [tree.commonAncestor(of: ids[0], and: ids[1])?.description ?? "none"]
        case "missing": return [list(tree.missingRevisions(of: ids))]
        case "possible":
            let limit = command.options["limit"].flatMap { Int($0) } ?? .max
            return [list(tree.possibleAncestors(of: ids[0], limit: limit))]
        case "nodes": return tree.nodes.map { describe($0) }
        case "encoding":
            var bytes: [UInt8] = []
            tree.encode(to: &bytes)
            return ["\(bytes.count) bytes"]
        default: throw ScriptCommand.Unknown(command)
        }
    }

    private func checkEncoding() throws {
        var bytes: [UInt8] = []
        tree.encode(to: &bytes)
        var offset = 0
        let copy = try RevisionTree(decoding: bytes.span, at: &offset)
        #expect(copy == tree)
        #expect(offset == bytes.count)
    }

    private func describe(_ node: RevisionTree.Node) -> String {
        let row = node.sequence.map { "row \($0)" } ?? "no body"
        return "\(node.id)\(node.isTombstone ? " ✝" : "") \(row)"
    }

    private func list(_ ids: [RevisionID]) -> String {
        ids.isEmpty ? "none" : ids.map(\.description).joined(separator: " ")
    }

    private func rows(_ sequences: [SequenceNumber]) -> [String] {
        let numbers = sequences.sorted().map { "\($0)" }.joined(separator: " ")
        return ["rows freed: \(numbers.isEmpty ? "none" : numbers)"]
    }
}
