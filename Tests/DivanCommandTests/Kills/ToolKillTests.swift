// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanListener
import DivanTestChild
import DivanTestSupport
import Foundation
import Synchronization
import Testing

@testable import DivanCommand

/// Each command of the tool that writes is killed at random moments.
///
/// Afterwards what it writes is as it was before or as it is after the command, or between the two document by document where its
/// page says so; `verify` finds nothing; and the same command, run again, brings it to its end.
///
/// Soak slices: 10.
@Suite(.timeLimit(.minutes(60))) struct ToolKillTests {
    @Test(arguments: ToolKillCommand.all)
    func `a command that is killed has been run or not, and is run again`(
        _ command: ToolKillCommand
    ) async throws {
        let rounds = Soak.rounds(test: 1, soak: 300)
        let report = KillReport()
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        var bench = ToolKillBench(command, report)
                        for round in rounds where report.isRight { try bench.kill(in: round) }
                    })
            }
        }
        report.record()
    }

    @Test func `a user is added or not when the command is killed`() async throws {
        let tool = try TestTool()
        let secret = ["DIVAN_PASSWORD": "secret"]
        try tool.run("users", "data", "--add", "ann", "--admin", environment: secret)
        for round in Soak.rounds(test: 1, soak: 300) {
            var random = Soak.random(round: round, salt: 0x7573_6572)
            let words = ["users", "data", "--add", "bob", "--role", "r\(round)"]
            let child = try tool.start(words, environment: secret)
            usleep(UInt32(random.below(500_000)))
            child.process.signal(SIGKILL)
            let status = try child.wait().status
            let lines = try tool.run("users", "data").lines
            let isThere = lines == ["ann  _admin", "bob  r\(round)"]
            #expect(
                isThere || (status != 0 && lines.first == "ann  _admin"),
                "Round \(round), seed \(Soak.seed): \(lines)")
            #expect(
                try tool.run("users", "data", "--add", "bob", "--role", "r", environment: secret)
                    .status == 0)
            #expect(try tool.run("users", "data").lines == ["ann  _admin", "bob  r"])
        }
        let left = try FileManager.default.contentsOfDirectory(atPath: tool.path("data"))
        // The lock of the file stays, as locks do.
        #expect(left.sorted() == ["listener.json", "listener.json.lock"], "\(left)")
    }
}

/// What a database holds, a line for each document and each other thing, by its name.
private struct DatabaseLines: Equatable {
    /// With revision IDs, and without.
    var full: [String: String] = [:]
    var content: [String: String] = [:]

    init() {}

    /// - Throws: `DatabaseError` as opening, or of what is damaged.
    init(_ database: Database) throws {
        var options = AllDocumentsOptions()
        options.includeDeleted = true
        for row in try database.allDocuments(options) {
            var lines: [String] = []
            var contents: [String] = []
            for leaf in try database.leafRevisions(of: row.id) {
                var text =
                    leaf.isDeleted ? "deleted" : JSONValue.object(Self.body(leaf)).description
                for attachment in leaf.attachments.sorted(by: { $0.name < $1.name }) {
                    text +=
                        " \(attachment.name) \(attachment.digest) \(try attachment.content().count)"
                }
                lines.append("\(leaf.revisionID) \(text)")
                if !leaf.isDeleted { contents.append(text) }
            }
            let date = try database.expirationDate(of: row.id).map {
                " \($0.timeIntervalSince1970)"
            }
            full[row.id.text] = lines.joined(separator: "\n") + (date ?? "")
            content[row.id.text] = contents.sorted().joined(separator: "\n") + (date ?? "")
        }
        for id: DocumentID in ["a", "b"] {
            guard let local = try database.localDocument(id) else { continue }
            full["_local/\(id)"] = JSONValue.object(local).description
        }
    }

    private static func body(_ document: Document) -> JSONObject {
        var properties = document.properties
        properties["_attachments"] = nil
        return properties
    }

    /// Whether it lies between two others: each document is as in the one or as in the other.
    func isBetween(_ before: Self, _ after: Self) -> Bool {
        Set(full.keys).union(before.full.keys).union(after.full.keys).allSatisfy {
            full[$0] == before.full[$0] || full[$0] == after.full[$0]
        }
    }
}

/// One command, its golden database, and what an undisturbed run of it leaves.
private struct ToolKillBench {
    private struct Known {
        /// The database that the command is given, and what it writes, before it.
        var source: DatabaseLines
        var before: DatabaseLines
        var after: DatabaseLines
        var file: Data?
        var output: String
        var microseconds: Int
    }

    private let command: ToolKillCommand
    private let report: KillReport
    private var known: [Keeping: Known] = [:]

    init(_ command: ToolKillCommand, _ report: KillReport) {
        self.command = command
        self.report = report
    }

    private static let environment = [
        ToolKillCommand.Key.first.rawValue: String(repeating: "4b", count: 32),
        ToolKillCommand.Key.second.rawValue: String(repeating: "6c", count: 32),
    ]

    // MARK: - A round

    mutating func kill(in round: Int) throws {
        // Every way of keeping databases has its turn, also where there is one round.
        let offset = ToolKillCommand.all.firstIndex { $0.name == command.name } ?? 0
        let keeping = command.keepings[(round + offset) % command.keepings.count]
        let place = "'\(command.name)', round \(round), \(keeping), seed \(Soak.seed)"
        var random = Soak.random(round: round, salt: UInt64(offset) &+ 0x746F_6F6C)
        let known = try prepared(keeping)
        let server = try Server(command, self)
        defer { server?.stop() }
        let tool = try fresh(keeping)
        let words = words(command.words, keeping, key(of: keeping), server)
        let child = try tool.start(words, input: command.input, environment: Self.environment)
        usleep(UInt32(random.below(known.microseconds * 5 / 4)))
        child.process.signal(SIGKILL)
        let (status, problem) = { ($0.status, $0.err) }(try child.wait())
        report.expect([0, 128 + SIGKILL].contains(status), "\(place) says \(status) \(problem)")
        let key = try check(tool, known, keeping, isDone: status == 0, place)
        let again = try tool.runWords(
            self.words(command.wordsAgain ?? command.words, keeping, key, server),
            environment: Self.environment)
        report.expect(
            again.status == 0 || command.doneAlready.contains(again.status),
            "\(place): again it says \(again.status) \(again.err)")
        try checkEnd(tool, known, keeping, again, place)
        if let problem = try server?.problem() { report.complain("\(place): \(problem)") }
    }

    /// Compares what the killed command has left; returns the key that opens the database then.
    private func check(
        _ tool: TestTool, _ known: Known, _ keeping: Keeping, isDone: Bool, _ place: String
    ) throws -> ToolKillCommand.Key {
        var key = key(of: keeping)
        if case .file = command.target {
            let file = try? Data(contentsOf: URL(fileURLWithPath: tool.path("file")))
            let isWhole = file == known.file || (file == Data("old".utf8) && !isDone)
            report.expect(isWhole, "\(place): the file is neither the old one nor the new one.")
        }
        var found: DatabaseLines?
        do { found = try lines(tool, target, key) } catch let error as DatabaseError {
            if error.code == .unauthorized, let newKey = command.newKey {
                key = newKey
                found = try lines(tool, target, key)
            } else {
                report.expect(error.code == .databaseNotFound, "\(place): \(error)")
            }
        }
        guard let found else {
            report.expect(isOptional && !isDone, "\(place): there is no database.")
            return key
        }
        let before = isOptional ? DatabaseLines() : known.before
        let isRight =
            switch command.steps {
            case .one: found == known.after || (found == before && !isDone && !isCopy)
            case .many: isDone ? found == known.after : found.isBetween(before, known.after)
            }
        report.expect(
            isRight, "\(place): the database is neither as before nor as after the command.")
        return key
    }

    private func checkEnd(
        _ tool: TestTool, _ known: Known, _ keeping: Keeping, _ again: TestTool.Result,
        _ place: String
    ) throws {
        let key = command.newKey ?? key(of: keeping)
        if case .file = command.target {
            report.expect(
                try Data(contentsOf: URL(fileURLWithPath: tool.path("file"))) == known.file,
                "\(place): run again, the file is another one.")
            report.expect(
                !FileManager.default.fileExists(atPath: tool.path("file.partial")),
                "\(place): a half file is left.")
        }
        let found = try lines(tool, target, key)
        report.expect(
            command.isRepeated ? found.content == known.after.content : found == known.after,
            "\(place): run again, it does not come to the same.")
        if command.hasOutput {
            report.expect(again.out == known.output, "\(place): the rows differ.")
        }
        if target != "db.divan" {
            report.expect(
                try lines(tool, "db.divan", self.key(of: keeping)) == known.source,
                "\(place): the source has changed.")
        }
        // The next one that opens it for writing tidies up.
        try open(tool, target, key).close()
        // Nothing is left of what was interrupted.
        for name in ["db.divan", "other.divan"] {
            guard let kept = try? FileManager.default.contentsOfDirectory(atPath: tool.path(name))
            else { continue }
            let others = kept.filter { $0.hasPrefix("data-") || $0.contains(".new-") }
            report.expect(others.count == 1, "\(place): \(others)")
        }
        let others = try FileManager.default.contentsOfDirectory(atPath: tool.directory.path)
            .filter { !$0.hasPrefix("run-") && !Self.expected.contains($0) }
        report.expect(others.isEmpty, "\(place): \(others)")
    }

    private static let expected: Set<String> = [
        "db.divan", "other.divan", "file", "content", "records", "view.json",
    ]

    // MARK: - The command

    private func key(of keeping: Keeping) -> ToolKillCommand.Key {
        keeping == .encrypted ? .first : .none
    }

    /// Whether the command makes the database.
    private var isOptional: Bool {
        if case .other(let isThere) = command.target { !isThere } else { false }
    }

    /// Whether a database that it makes is there once it is whole, and not before.
    private var isCopy: Bool { isOptional && command.name != "create" }

    private var target: String {
        if case .other = command.target { "other.divan" } else { "db.divan" }
    }

    private func words(
        _ words: [String], _ keeping: Keeping, _ key: ToolKillCommand.Key, _ server: Server?
    ) -> [String] {
        var words = words.map { $0.replacing("URL/", with: server?.url ?? "") }
        if command.name == "create", keeping == .lmdb { words += ["--engine", "lmdb"] }
        guard key != .none else { return words }
        return words + ["--encryption-key", "env:\(key.rawValue)"]
    }

    // MARK: - Databases

    private func open(
        _ tool: TestTool, _ place: String, _ key: ToolKillCommand.Key,
        readOnly: Bool = false
    ) throws -> Database {
        var options = DatabaseOptions()
        options.readOnly = readOnly
        let key = place == "other.divan" ? command.otherKey ?? key : key
        switch key {
        case .none: break
        case .first: options.encryptionKey = try Keeping.key()
        case .second:
            options.encryptionKey = try EncryptionKey(rawBytes: [UInt8](repeating: 0x6C, count: 32))
        }
        return try Database.open(
            at: URL(fileURLWithPath: tool.path(place)), options: options)
    }

    /// Reads a database without changing it, and verifies it.
    private func lines(
        _ tool: TestTool, _ place: String, _ key: ToolKillCommand.Key
    ) throws -> DatabaseLines {
        let database = try open(tool, place, key, readOnly: true)
        defer { database.close() }
        // What was interrupted may have left data, of which it tells where there is a key; the next writer removes them.
        let problems = try database.verify().filter {
            !$0.message.hasPrefix("Earlier data lie")
        }
        report.expect(problems.isEmpty, "'\(command.name)': \(problems.prefix(3))")
        return try DatabaseLines(database)
    }

    /// A folder with copies of what the command is given.
    private func fresh(_ keeping: Keeping) throws -> TestTool {
        let tool = try TestTool()
        let golden = try ToolKillGolden.folder(keeping, isExpiring: command.name == "expire --now")
        let manager = FileManager.default
        try manager.copyItem(atPath: golden.path("golden.divan"), toPath: tool.path("db.divan"))
        if case .other(isThere: true) = command.target {
            try manager.copyItem(
                atPath: golden.path("small.divan"), toPath: tool.path("other.divan"))
        }
        for name in ["content", "records", "view.json"] {
            try manager.copyItem(atPath: golden.path(name), toPath: tool.path(name))
        }
        if case .file = command.target { try tool.write("old", to: "file") }
        return tool
    }

    /// Runs the command undisturbed, the first time.
    private mutating func prepared(_ keeping: Keeping) throws -> Known {
        if let known = known[keeping] { return known }
        let server = try Server(command, self)
        defer { server?.stop() }
        let tool = try fresh(keeping)
        let source = try lines(tool, "db.divan", key(of: keeping))
        var before = source
        if case .other(isThere: true) = command.target {
            before = try lines(tool, "other.divan", key(of: keeping))
        }
        let start = ContinuousClock.now
        let result = try tool.runWords(
            words(command.words, keeping, key(of: keeping), server), environment: Self.environment)
        let took = Int((ContinuousClock.now - start) / .microseconds(1))
        report.expect(result.status == 0, "'\(command.name)' says \(result.err)")
        let after = try lines(tool, target, command.newKey ?? key(of: keeping))
        var made = Known(
            source: source, before: before, after: after, output: result.out,
            microseconds: max(took, 1))
        made.file = try? Data(contentsOf: URL(fileURLWithPath: tool.path("file")))
        known[keeping] = made
        return made
    }

    /// A listener of the tests, for commands that replicate with a server.
    private struct Server {
        let url: String
        private let manager: Manager
        private let listener: Listener
        private let tool: TestTool

        init?(_ command: ToolKillCommand, _ bench: ToolKillBench) throws {
            guard command.words.contains(where: { $0.hasPrefix("URL/") }) else { return nil }
            tool = try TestTool()
            let golden = try ToolKillGolden.folder(.sqlite, isExpiring: false)
            try FileManager.default.copyItem(
                atPath: golden.path("golden.divan"), toPath: tool.path("golden.divan"))
            manager = try Manager(directory: tool.directory)
            var options = ListenerOptions()
            options.access = .everybodyOnLoopback
            listener = Listener(manager, options)
            try listener.start()
            url = listener.urls.first?.absoluteString ?? ""
        }

        func stop() {
            listener.stop()
            manager.close()
        }

        /// What the database lacks that a command has pushed here.
        func problem() throws -> String? {
            guard manager.databaseExists(named: "mirror") else { return nil }
            let mirror = try DatabaseLines(manager.database(named: "mirror"))
            let golden = try DatabaseLines(manager.database(named: "golden"))
            let lacking = golden.full.filter {
                !$0.key.hasPrefix("_local/") && mirror.content[$0.key] != golden.content[$0.key]
            }
            return lacking.isEmpty ? nil : "the server lacks \(lacking.keys.sorted().prefix(3))"
        }
    }
}

/// The databases that the commands begin with, made once for each way of keeping them.
private enum ToolKillGolden {
    private struct Kind: Hashable {
        var keeping: Keeping
        var isExpiring: Bool
    }

    private static let made = Mutex<[Kind: TestTool]>([:])

    static func folder(_ keeping: Keeping, isExpiring: Bool) throws -> TestTool {
        try made.withLock { made in
            // Nothing else removes the folders of a static value.
            if made.isEmpty { atexit { ToolKillGolden.made.withLock { $0 = [:] } } }
            let kind = Kind(keeping: keeping, isExpiring: isExpiring)
            if let tool = made[kind] { return tool }
            let tool = try TestTool()
            try fill(tool, kind)
            made[kind] = tool
            return tool
        }
    }

    private static func fill(_ tool: TestTool, _ kind: Kind) throws {
        let database = try Database.forTest(
            at: tool.path("golden.divan"), create: true, keeping: kind.keeping)
        try database.inBatch {
            for n in 0..<70 {
                let id: DocumentID = "document-\(n)"
                for edit in 0..<3 {
                    let document =
                        try database.document(withID: id)?.toMutable() ?? MutableDocument(id: id)
                    document.setProperties(KnownBody.make(id.text, n * 7 + edit))
                    if n % 5 == 0 {
                        document.setAttachment(
                            named: "a", contentType: "text/plain", .bytes(KillContent.bytes(n)))
                    }
                    try database.save(document)
                }
                if n % 4 == 1 {
                    try database.putExistingRevision(
                        id, KnownBody.make(id.text, n), history: ["3-\(n)", "2-\(n)"])
                }
                if n % 10 == 9 { try database.delete(id) }
            }
        }
        try database.putLocalDocument("a", ["n": 1])
        try KnownView.define(on: database).updateIndex()
        let due = kind.isExpiring ? Date() + 2 : .distantPast
        if kind.isExpiring {
            try database.inBatch {
                for n in 20..<60 where n % 10 != 9 {
                    try database.setExpiration(of: "document-\(n)", at: due)
                }
            }
        }
        database.close()
        let small = try Database.forTest(
            at: tool.path("small.divan"), create: true, keeping: kind.keeping)
        try small.save(MutableDocument(["n": 1], id: "small"))
        small.close()
        try Data(KillContent.bytes(19 + 20 * 7)).write(
            to: URL(fileURLWithPath: tool.path("content")))
        let records = (0..<1_200).map { n in
            JSONValue.object(["_id": .string("record-\(n)"), "n": .integer(Int64(n))]).description
        }
        try tool.write(records.joined(separator: "\n"), to: "records")
        try tool.write(#"{"key":"n","reduce":"count"}"#, to: "view.json")
        // Only once they are due: nothing that is opened for writing before purges them by itself.
        while Date() < due + 0.1 { usleep(10_000) }
    }
}

extension TestTool {
    /// Runs a command to its end.
    fileprivate func runWords(_ words: [String], environment: [String: String]) throws -> Result {
        try start(words, environment: environment).wait()
    }
}
