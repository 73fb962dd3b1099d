// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanDesign
import DivanJavaScript
import DivanTestSupport
import Testing

/// Functions of design documents, as an app has them run.
@Suite(.enabled(if: Engine.isHere, Engine.need), .timeLimit(.minutes(5)))
struct DesignDocumentsTests {
    private let database: Database
    private let runtime: JavaScriptRuntime

    init() throws {
        database = try Database.inMemory(named: "db")
        var limits = JavaScriptLimits()
        // On a busy machine a function that does end may take seconds.
        limits.time = .seconds(5)
        runtime = JavaScriptRuntime(program: Engine.program, limits: limits)
        database.designDocuments.enable(runtime)
    }

    private func people() throws {
        for (id, age) in [("ann", 30), ("bob", 20), ("cid", 30)] as [(String, Int64)] {
            try database.save(
                MutableDocument(["name": .string(id), "age": .integer(age)], id: DocumentID(id)))
        }
    }

    private func design(_ name: String, _ body: JSONObject) throws {
        let id = DocumentID("_design/\(name)")
        guard let document = try database.document(withID: id) else {
            try database.save(MutableDocument(body, id: id))
            return
        }
        _ = try database.put(id, body, parent: document.revisionID)
    }

    private func rows(_ view: String) throws -> [String] {
        try database.designDocuments.view(view).query().run().map {
            "\($0.key)=\($0.value ?? .null)"
        }
    }

    @Test func `a view of a design document gives the rows that its twin in Swift gives`() throws {
        try people()
        try design(
            "p",
            [
                "views": [
                    "by_age": [
                        "map":
                            "function(doc) { emit(doc.age, doc.name); emit([doc.age, null], {n: 1.5}) }"
                    ],
                    "count": ["map": "function(doc) { emit(doc.name) }", "reduce": "_count"],
                ]
            ])
        let twin = database.view(named: "twin")
        twin.setMap(version: "1") { document, emit in
            emit(document["age"], document["name"])
            emit(JSONValue.array([document["age"].value ?? .null, .null]), JSONValue(["n": 1.5]))
        }
        let expected = try twin.query().run().map { "\($0.key)=\($0.value ?? .null)" }
        #expect(try rows("p/by_age") == expected)
        #expect(try rows("p/count") == ["null=3"])
        try database.save(MutableDocument(["name": "dan", "age": 1], id: "dan"))
        #expect(try rows("p/count") == ["null=4"])
        #expect(try rows("p/by_age").first == "1=\"dan\"")
    }

    private final class Lines: LogSink {
        let lines = Record<String>()
        func write(_ entry: LogEntry) { lines.append(entry.message) }
    }

    @Test func `what a map function logs is told with its document, whose ID it does not read`()
        async throws
    {
        let sink = Lines()
        var levels = LogLevels(.none)
        levels[.scripts] = .debug
        Log.add(sink, levels: levels)
        defer { Log.remove(sink) }
        try people()
        try design(
            "logging",
            [
                "views": [
                    "v": [
                        "map":
                            "function(doc) { if (doc.age > 20) log(doc.age); else doc.age.x.y }"
                    ]
                ]
            ])
        #expect(try rows("logging/v") == [])
        let told = { sink.lines.all.filter { $0.hasPrefix("'_design/logging' logs for ") } }
        await eventually { told().count == 3 }
        #expect(told().contains("'_design/logging' logs for 'ann': 30"))
        #expect(
            told().contains { $0.hasPrefix("'_design/logging' logs for 'bob': function raised") })
    }

    @Test(arguments: Engine.here)
    func `each engine keeps the rows of a view up to date`(engine: JavaScriptEngine) throws {
        database.designDocuments.enable(JavaScriptRuntime(program: Engine.program, engine: engine))
        try people()
        let map = "function(doc) { for (i = 0; i < 2; i++) emit(doc.name + '\u{1F600}', i) }"
        try design("p", ["views": ["v": ["map": .string(map)]]])
        #expect(try rows("p/v").first == "\"ann\u{1F600}\"=0")
        try database.save(MutableDocument(["name": "dan"], id: "dan"))
        #expect(try rows("p/v").last == "\"dan\u{1F600}\"=1")
        #expect(try rows("p/v").count == 8)
    }

    @Test
    func `a design document that changes changes its views, and those that stay keep their rows`()
        throws
    {
        try people()
        let kept: JSONValue = ["map": "function(doc) { emit(doc.name) }"]
        try design("p", ["views": ["a": kept, "b": ["map": "function(doc) { emit(1) }"]]])
        #expect(try rows("p/b").count == 3)
        #expect(try rows("p/a").count == 3)
        try design("p", ["views": ["a": kept, "b": ["map": "function(doc) { emit(2); emit(3) }"]]])
        #expect(try rows("p/b").first == "2=null")
        let view = try database.designDocuments.view("p/a")
        #expect(!(try view.isStale) || view.statistics.documents < 3)
        try design("p", ["views": ["a": kept]])
        #expect(throws: DatabaseError.self) { try database.designDocuments.view("p/b") }
        _ = try database.designDocuments.view("p/a").query().run()
        #expect(try database.viewNames() == ["p/a"])
        try database.delete(#require(try database.document(withID: "_design/p")))
        #expect(try database.designDocuments.removeUnusedIndexes() == ["p/a"])
        #expect(try database.viewNames().isEmpty)
    }

    @Test func `functions that read nothing else still get revisions and attachments`() throws {
        let document = MutableDocument(["n": 1], id: "a")
        document.setAttachment(named: "t", contentType: "text/plain", .bytes(Array("x".utf8)))
        let revision = try database.save(document).document.revisionID
        for (name, map, row) in [
            ("rev", "emit(doc._rev)", "\"\(revision)\"=null"),
            ("stub", "emit(doc._attachments.t.content_type)", "\"text/plain\"=null"),
            ("none", "emit(1, typeof doc._conflicts)", "1=\"undefined\""),
        ] {
            try design(name, ["views": ["v": ["map": .string("function(doc) { \(map) }")]]])
            #expect(try rows("\(name)/v") == [row])
        }
    }

    @Test func `a reduce in JavaScript reduces and rereduces`() throws {
        for n in 1...1_000 {
            try database.save(MutableDocument(["n": .integer(Int64(n))], id: DocumentID("d\(n)")))
        }
        try design(
            "p",
            [
                "views": [
                    "sum": [
                        "map": "function(doc) { emit(doc.n % 7, doc.n) }",
                        "reduce": "function(keys, values, rereduce) { return sum(values) }",
                    ],
                    "ids": [
                        "map": "function(doc) { if (doc.n < 3) emit(doc.n, 1) }",
                        "reduce":
                            "function(keys, values, rereduce) { return rereduce ? values[0] : keys[0][1] }",
                    ],
                    "long": [
                        "map": "function(doc) { emit(doc.n, 'a text that is not short') }",
                        "reduce": "function(keys, values) { return values.concat(values) }",
                    ],
                ]
            ])
        #expect(try rows("p/sum") == ["null=500500"])
        var query = try database.designDocuments.view("p/sum").query()
        query.grouping = .exact
        #expect(try query.run().count == 7)
        #expect(try rows("p/ids") == ["null=\"d1\""])
        try database.purge("d1")
        try database.save(MutableDocument(["n": 8], id: "d8b"))
        #expect(try rows("p/sum") == ["null=500507"])
        #expect(try rows("p/ids") == ["null=\"d2\""])
        let long = try database.designDocuments.view("p/long").query().run()
        #expect(long.first?.value?["reduce_overflow_error"] != nil)
    }

    @Test func `a view whose function never returns fails alone, and its process ends`() throws {
        try people()
        try design("bad", ["views": ["v": ["map": "function(doc) { while (true) {} }"]]])
        try design("good", ["views": ["v": ["map": "function(doc) { emit(doc._id) }"]]])
        database.view(named: "swift").setMap(version: "1") { document, emit in
            emit(document["age"], nil)
        }
        let bad = try database.designDocuments.view("bad/v")
        let error = #expect(throws: DatabaseError.self) { try bad.query().run() }
        #expect(error?.code == .scriptFailed)
        #expect((error?.underlying as? ScriptError)?.code == .timeLimit)
        #expect(try database.view(named: "swift").query().run().count == 3)
        #expect(try rows("good/v").count == 3)
        #expect(runtime.processCount <= 2)
    }

    @Test func `a function that throws for a document leaves it out`() throws {
        try people()
        try design(
            "p", ["views": ["v": ["map": "function(doc) { emit(1); if (doc.age > 20) doc.a.b.c }"]]]
        )
        #expect(try rows("p/v") == ["1=null"])
    }

    @Test func `a function that does not compile makes its views fail by name`() throws {
        try people()
        try design(
            "p",
            ["views": ["v": ["map": "function(doc) {"], "w": ["map": "function(doc) { emit(1) }"]]])
        let error = #expect(throws: DatabaseError.self) { try rows("p/v") }
        #expect((error?.underlying as? ScriptError)?.name == "compilation_error")
    }

    @Test func `options of design documents and views count`() throws {
        try people()
        try design(
            "p",
            [
                "options": ["local_seq": true, "include_design": true],
                "views": [
                    "lib": ["twice": "exports.twice = function(n) { return 2 * n }"],
                    "v": [
                        "map":
                            "function(doc) { emit(doc._id, require('views/lib/twice').twice(doc._local_seq)) }"
                    ],
                    "raw": [
                        "map": "function(doc) { emit(doc._id == 'ann' ? 'B' : 'a') }",
                        "options": ["collation": "raw"],
                    ],
                ],
            ])
        #expect(
            try rows("p/v") == ["\"_design/p\"=8", "\"ann\"=2", "\"bob\"=4", "\"cid\"=6"])
        #expect(try rows("p/raw").first == "\"B\"=null")
    }

    @Test func `documents show their attachments and conflicts to map functions`() throws {
        let document = MutableDocument(["a": 1], id: "x")
        document.setAttachment(named: "f", contentType: "text/plain", .bytes(Array("hello".utf8)))
        try database.save(document)
        let parent = try #require(try database.document(withID: "x")).revisionID
        for digest in ["aaaa", "bbbb"] {
            try database.putExistingRevision(
                "x", ["n": 1], history: [RevisionID("2-\(digest)"), parent])
        }
        try design(
            "p",
            [
                "views": [
                    "v": [
                        "map":
                            "function(doc) { emit(doc._rev, doc._conflicts); emit(doc._attachments) }"
                    ]
                ]
            ])
        #expect(try rows("p/v") == ["null=null", "\"2-bbbb\"=[\"2-aaaa\"]"])
    }

    @Test func `a filter of a design document filters changes and replications`() throws {
        try people()
        try design(
            "p",
            [
                "filters": [
                    "older": "function(doc, req) { return doc.age > Number(req.query.than) }"
                ]
            ])
        let changes = try database.changes(filter: "p/older", parameters: ["than": "25"])
        #expect(changes.changes.map(\.id) == ["ann", "cid"])
        #expect(throws: DatabaseError.self) { try database.changes(filter: "p/none") }
        database.designDocuments.disable()
        #expect(throws: DatabaseError.self) { try database.changes(filter: "p/older") }
    }

    @Test func `a filter gets its parameters as texts, as CouchDB gives them`() throws {
        try people()
        try design(
            "p",
            [
                "filters": [
                    "texts": """
                    function(doc, req) {
                        var q = req.query;
                        return q.n === '7' && q.d === '2.5' && q.b === 'true' && q.z === 'null'
                            && q.l === '[1,"a"]' && q.t === 'é' && q.key === 7;
                    }
                    """
                ]
            ])
        let changes = try database.changes(
            filter: "p/texts",
            parameters: [
                "n": 7, "d": 2.5, "b": true, "z": .null, "l": [1, "a"], "t": "é", "key": 7,
            ])
        #expect(changes.changes.map(\.id) == ["ann", "bob", "cid", "_design/p"])
    }

    @Test func `a validation function is asked about saves and arrivals, if the app says so`()
        throws
    {
        try design(
            "auth",
            [
                "validate_doc_update": """
                function(doc, old, user, security) {
                    if (old && old.owner !== doc.owner) throw({forbidden: 'The owner stays.'});
                    if (!doc._deleted && !doc.owner) throw({unauthorized: 'Who owns it?'});
                    if (user.roles.indexOf('_admin') < 0) throw({forbidden: 'no admin'});
                    if (doc._revisions.ids.length !== doc._revisions.start) throw({forbidden: 'history'});
                }
                """
            ])
        try database.save(MutableDocument(["no": "owner"], id: "free"))
        database.designDocuments.enable(runtime, validates: true)
        #expect(try database.unrunValidations().isEmpty)
        let refused = #expect(throws: DatabaseError.self) {
            try database.save(MutableDocument(["no": "owner"], id: "a"))
        }
        #expect(refused?.code == .forbidden)
        #expect(refused?.message == "Who owns it?")
        #expect((refused?.underlying as? ScriptError)?.name == "unauthorized")
        try database.save(MutableDocument(["owner": "ann"], id: "a"))
        #expect(throws: DatabaseError.self) {
            try database.update("a") { $0["owner"] = "bob" }
        }
        #expect(throws: DatabaseError.self) {
            try database.putExistingRevision(
                "b", ["x": 1], history: [RevisionID("1-aaaa")])
        }
        try database.putExistingRevision(
            "b", ["owner": "bob"], history: [RevisionID("1-aaaa")])
        // In one batch the rules are those that the batch has written.
        try database.inBatch {
            try database.delete(#require(try database.document(withID: "_design/auth")))
            try database.save(MutableDocument(["no": "owner"], id: "c"))
        }
        #expect(try database.document(withID: "c") != nil)
    }

    @Test func `a rule of a batch that was undone is not kept`() throws {
        struct Undone: Error {}
        func rule(_ word: String) -> JSONObject {
            [
                "validate_doc_update": .string(
                    "function(doc) { if (doc.word !== '\(word)') throw({forbidden: 'no'}) }")
            ]
        }
        database.designDocuments.enable(runtime, validates: true)
        #expect(throws: Undone.self) {
            try database.inBatch {
                try database.save(MutableDocument(rule("undone"), id: "_design/a"))
                try database.save(MutableDocument(["word": "undone"], id: "x"))
                throw Undone()
            }
        }
        // It gets the sequence that the other one had.
        try database.save(MutableDocument(rule("kept"), id: "_design/a"))
        #expect(throws: DatabaseError.self) {
            try database.save(MutableDocument(["word": "undone"], id: "x"))
        }
        try database.save(MutableDocument(["word": "kept"], id: "x"))
    }

    @Test func `a validation that cannot be asked refuses nothing for good`() throws {
        try design(
            "auth", ["validate_doc_update": "function(doc) { if (doc.loop) while (true) {} }"])
        database.designDocuments.enable(runtime, validates: true)
        let error = #expect(throws: DatabaseError.self) {
            try database.save(MutableDocument(["loop": true], id: "a"))
        }
        #expect(error?.code == .scriptFailed)
        try database.save(MutableDocument(["loop": false], id: "a"))
    }

    @Test(arguments: [["$regex": "(a+)+$"], ["$not": ["$regex": "(a+)+$"]]] as [JSONValue])
    func `a rule by selector refuses what it cannot tell of`(condition: JSONValue) throws {
        try design(
            "rule",
            ["language": "query", "validate_doc_update": .object(["newDoc.text": condition])])
        database.designDocuments.enable(runtime, validates: true)
        let text = String(repeating: "a", count: 40) + "!"
        let error = #expect(throws: DatabaseError.self) {
            try database.save(MutableDocument(["text": .string(text)], id: "a"))
        }
        #expect(error?.code == .scriptFailed)
        #expect(error?.message.contains("_design/rule") == true)
        #expect(try database.document(withID: "a") == nil)
        let fitting = condition == ["$regex": "(a+)+$"] ? "a" : "b"
        try database.save(MutableDocument(["text": .string(fitting)], id: "a"))
    }

    @Test func `names of views are told apart as those of their design documents are`() throws {
        try people()
        try design("a/b", ["views": ["c": ["map": "function() { emit('ab') }"]]])
        try design("a", ["views": ["b/c": ["map": "function() { emit('a') }"]]])
        #expect(try rows("a%2Fb/c").first == "\"ab\"=null")
        #expect(try rows("a/b/c").first == "\"a\"=null")
        for name in ["none/v", "a/none", "nothing"] {
            #expect(throws: DatabaseError.self, "\(name)") {
                try database.designDocuments.view(name)
            }
        }
    }
}
