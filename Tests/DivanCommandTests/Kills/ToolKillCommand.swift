// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestChild
import DivanTestSupport
import Testing

/// A command of the tool that writes, with what a kill in the middle of it may leave.
struct ToolKillCommand: CustomTestStringConvertible, Sendable {
    /// What there may be afterwards.
    enum Steps: Sendable {
        /// The state before or the one after it.
        case one
        /// Each document as it was before or as it is after.
        case many
    }

    /// What the command writes.
    enum Target: Sendable {
        /// The database, a copy of the golden one.
        case database
        /// A database beside it, which is missing at first unless it is made of the golden one, too.
        case other(isThere: Bool)
        /// A file beside it.
        case file
    }

    var name: String
    /// The words of the command line; `db`, `other` and `file` are paths in the current directory.
    var words: [String]
    var input = ""
    var target = Target.database
    var steps = Steps.one
    /// The ways of keeping databases that it is for.
    var keepings = Keeping.allCases
    /// The key of the database before, where it is not that of its keeping; and the one that it has afterwards.
    var newKey: Key?
    /// The key of the other database, where it is not the same.
    var otherKey: Key?
    /// What running it again may say when it was done already.
    var doneAlready: [ExitCodeNumber] = []
    /// Whether running it again changes documents again, as new revisions with the same content.
    var isRepeated = false
    /// What the output says is compared, too.
    var hasOutput = false

    typealias ExitCodeNumber = Int32

    /// A key, by the variable of the environment that holds it; nil for none.
    enum Key: String, Sendable {
        case first = "DIVAN_KILL_KEY", second = "DIVAN_KILL_OTHER_KEY", none
    }

    var testDescription: String { name }

    /// The words that run it again, where they are others.
    var wordsAgain: [String]?

    static let all = documents + imports + indexes + copies + keys + replications + files

    private static let ids = (0..<9).map { "document-\($0)" }

    private static let documents = [
        ToolKillCommand(
            name: "put", words: ["put", "db", "document-0", #"{"n":1}"#, "--replace"],
            isRepeated: true),
        ToolKillCommand(
            name: "put --history",
            words: ["put", "db", "document-1", #"{"n":2}"#, "--history", "7-abc,6-def"]),
        ToolKillCommand(
            name: "edit", words: ["edit", "db", "document-2", "--set", "n=3"], isRepeated: true),
        ToolKillCommand(name: "rm", words: ["rm", "db"] + ids, doneAlready: [3]),
        ToolKillCommand(name: "purge", words: ["purge", "db"] + ids, doneAlready: [3]),
        ToolKillCommand(
            name: "expire", words: ["expire", "db", "document-3", "--at", "2100-01-01"]),
        ToolKillCommand(name: "expire --now", words: ["expire", "db", "--now"], steps: .many),
        ToolKillCommand(
            name: "attach", words: ["attach", "db", "document-4", "content", "--name", "new"],
            isRepeated: true),
        ToolKillCommand(
            name: "detach", words: ["detach", "db", "document-10", "a"], doneAlready: [3]),
        ToolKillCommand(
            name: "resolve", words: ["resolve", "db", "--all", "--winner"], steps: .many),
        ToolKillCommand(name: "compact", words: ["compact", "db"]),
    ]

    private static let imports = [
        ToolKillCommand(
            name: "import", words: ["import", "db", "records", "--update"], steps: .many),
        ToolKillCommand(
            name: "import --create", words: ["import", "other", "records", "--create"],
            target: .other(isThere: false), steps: .many, otherKey: nil,
            wordsAgain: ["import", "other", "records", "--create", "--update"]),
    ]

    private static let indexes = [
        ToolKillCommand(
            name: "view", words: ["view", "db", "byN", "--define", "view.json"], hasOutput: true),
        ToolKillCommand(
            name: "search", words: ["search", "db", "document", "--on", "text", "--limit", "500"],
            hasOutput: true),
        ToolKillCommand(
            name: "index --delete", words: ["index", "db", "--delete", "known"], doneAlready: [3]),
    ]

    private static let copies = [
        ToolKillCommand(
            name: "create", words: ["create", "other.divan"], target: .other(isThere: false),
            doneAlready: [4]),
        ToolKillCommand(
            name: "salvage", words: ["salvage", "db", "other.divan"],
            target: .other(isThere: false), doneAlready: [4]),
        ToolKillCommand(
            name: "backup", words: ["backup", "db", "other.divan"],
            target: .other(isThere: false), doneAlready: [4]),
        ToolKillCommand(
            name: "backup --new-key",
            words: ["backup", "db", "other.divan", "--new-key", "env:\(Key.second.rawValue)"],
            target: .other(isThere: false), keepings: [.sqlite, .encrypted], otherKey: .second,
            doneAlready: [4]),
        ToolKillCommand(
            name: "install", words: ["install", "db", "other.divan", "--replace"],
            target: .other(isThere: true)),
        ToolKillCommand(
            name: "convert to LMDB", words: ["convert", "db", "lmdb"], keepings: [.sqlite]),
        ToolKillCommand(
            name: "convert to SQLite", words: ["convert", "db", "sqlite"], keepings: [.lmdb]),
    ]

    private static let keys = [
        ToolKillCommand(
            name: "rekey, to encrypt",
            words: ["rekey", "db", "--new-key", "env:\(Key.second.rawValue)"],
            keepings: [.sqlite], newKey: .second),
        ToolKillCommand(
            name: "rekey", words: ["rekey", "db", "--new-key", "env:\(Key.second.rawValue)"],
            keepings: [.encrypted], newKey: .second),
        ToolKillCommand(
            name: "rekey --reencrypt",
            words: ["rekey", "db", "--new-key", "env:\(Key.second.rawValue)", "--reencrypt"],
            keepings: [.encrypted], newKey: .second),
        ToolKillCommand(
            name: "rekey --remove", words: ["rekey", "db", "--remove"], keepings: [.encrypted],
            newKey: Key.none),
    ]

    private static let replications = [
        ToolKillCommand(
            name: "replicate", words: ["replicate", "db", "other.divan"],
            target: .other(isThere: false), steps: .many),
        ToolKillCommand(
            name: "sync", words: ["sync", "db", "other.divan"], target: .other(isThere: false),
            steps: .many),
        ToolKillCommand(
            name: "replicate from a server", words: ["replicate", "URL/golden", "other.divan"],
            target: .other(isThere: false), steps: .many),
        ToolKillCommand(
            name: "replicate to a server",
            words: ["replicate", "db", "URL/mirror", "--create-target"], steps: .many),
    ]

    private static let files = [
        ToolKillCommand(
            name: "export", words: ["export", "db", "file"], target: .file),
        ToolKillCommand(
            name: "attachment get",
            words: ["attachment", "get", "db", "document-35", "a", "-o", "file"], target: .file),
    ]
}
