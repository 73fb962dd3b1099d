// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanDesign
import DivanJavaScript
import DivanTestSupport
import Foundation
import Testing

/// Design documents in another language, run by a query server that is no program of Divan's.
@Suite(.timeLimit(.minutes(5))) struct QueryServerTests {
    /// A query server for a language of one word: a map function is the name of a property to emit, a filter the name of one that must
    /// be true, and a reduction counts. Some words do harm.
    private static let server = """
        import json, sys, time
        functions, design = [], {}
        def mapped(name, document):
            if name == "loop": time.sleep(600)
            if name == "flood": sys.stdout.write("x" * (9 << 20))
            if name == "grow": globals()["grown"] = [b"x" * ((1 << 20) + n) for n in range(200)]; time.sleep(600)
            if name == "die": sys.exit(1)
            if name == "fatal": return ["fatal", "mine", "a reason"]
            if name == "tell": print(json.dumps(["log", "a line"]), flush=True)
            return [[document.get(name), None]]
        for line in sys.stdin:
            command = json.loads(line)
            word, answer = command[0], True
            if word == "reset": functions.clear()
            elif word == "add_fun":
                functions.append(command[1])
                if " " in command[1]: answer = ["error", "compilation_error", "two words"]
            elif word == "map_doc":
                answer = [mapped(name, command[1]) for name in functions]
                for rows in answer:
                    if rows[0] == "fatal": answer = rows
            elif word in ("reduce", "rereduce"):
                answer = [True, [sum(command[2]) if word == "rereduce" else len(command[2])]]
            elif command[1] == "new": design = command[3]
            elif command[2][0] == "filters":
                name = design["filters"][command[2][1]]
                answer = [True, [bool(one.get(name)) for one in command[3][0]]]
            else: answer = {"forbidden": "never"} if command[3][0].get("bad") else 1
            print(json.dumps(answer), flush=True)
        """

    private let directory: ScratchDirectory
    private let database: Database
    private let runtime: QueryServerRuntime

    init() throws {
        directory = try ScratchDirectory()
        database = try Database.inMemory(named: "db")
        let script = directory.path + "/server.py"
        try Data(Self.server.utf8).write(to: URL(filePath: script))
        var limits = JavaScriptLimits()
        (limits.time, limits.memory, limits.answer) = (.seconds(5), 64 << 20, 8 << 20)
        runtime = QueryServerRuntime(
            language: "word", program: "/usr/bin/python3",
            arguments: [script], limits: limits)
        for number in 0..<300 as Range<Int64> {
            try database.save(
                MutableDocument(["n": .integer(number), "isEven": .bool(number % 2 == 0)]))
        }
        database.designDocuments.enable(runtime)
    }

    private func learn(_ map: String) throws {
        let body: JSONObject = [
            "language": "word", "filters": ["even": "isEven"],
            "views": ["v": ["map": .string(map), "reduce": "count"]],
        ]
        try database.save(MutableDocument(body, id: "_design/\(map.filter { $0 != " " })"))
    }

    private func query(_ map: String) throws -> [String] {
        try database.designDocuments.view("\(map)/v").query().run().map {
            "\($0.key)=\($0.value ?? .null)"
        }
    }

    private func error(_ map: String) -> ScriptError? {
        do {
            _ = try query(map)
            return nil
        } catch {
            return (error as? DatabaseError)?.underlying as? ScriptError
        }
    }

    @Test func `views are built, reduced and kept up to date`() throws {
        try learn("n")
        #expect(try query("n") == ["null=300"])
        try database.save(MutableDocument(["n": 1_000]))
        #expect(try query("n") == ["null=301"])
        let view = try database.designDocuments.view("n/v")
        var keys = view.query()
        keys.mapOnly = true
        #expect(try keys.run().map(\.key.int64) == (0..<300).map { $0 } + [1_000])
    }

    @Test func `filters and validations are asked, and documents that pass are saved`() throws {
        try learn("n")
        try database.save(
            MutableDocument(
                ["language": "word", "validate_doc_update": "no bad ones"], id: "_design/rule"))
        database.designDocuments.enable(runtime, validates: true)
        #expect(throws: DatabaseError.self) { try database.save(MutableDocument(["bad": true])) }
        try database.save(MutableDocument(["bad": false], id: "good"))
        #expect(try database.document(withID: "good") != nil)
        let passes = try #require(try database.anyFilter(named: "n/even"))
        let even = try database.allDocuments().filter { row in
            try passes(#require(try database.document(withID: row.id)), [:])
        }
        #expect(even.count == 150)
    }

    @Test(arguments: [
        ("loop", ScriptError.Code.timeLimit), ("flood", .answerLimit), ("grow", .memoryLimit),
        ("die", .workerFailed), ("fatal", .script), ("two words", .script),
    ])
    func `a program that does harm is ended, and others go on`(
        map: String, code: ScriptError.Code
    ) throws {
        try learn(map)
        try learn("n")
        #expect(error(map.filter { $0 != " " })?.code == code)
        #expect(try query("n") == ["null=300"])
    }

    @Test func `a program that is not there is told of with its path`() {
        let nothing = QueryServerRuntime(language: "word", program: "/no/such/program")
        #expect {
            try nothing.verify()
        } throws: { error in
            (error as? ScriptError)?.code == .unavailable
                && "\(error)".contains("/no/such/program")
        }
        let silent = QueryServerRuntime(language: "word", program: "/bin/true")
        #expect(throws: ScriptError.self) { try silent.verify() }
    }

    @Test func `a document of another language than those that run is refused by its name`() throws
    {
        try database.save(
            MutableDocument(["language": "other", "views": ["v": ["map": "n"]]], id: "_design/o"))
        #expect(error("o")?.name == "unknown_query_language")
    }
}
