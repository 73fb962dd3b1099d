// SPDX-License-Identifier: Apache-2.0

import DivanDesign
import DivanJSON
import DivanJavaScript
import DivanTestSupport
import Testing

/// Lines that map many documents, and what map functions are seen to read: the rows must be those of whole documents that are mapped
/// one by one.
@Suite(.enabled(if: Engine.isHere, Engine.need), .timeLimit(.minutes(5)))
struct MappedDocumentsTests {
    /// Functions whose text shows what they read, and what that is.
    private static let readable: [(source: String, names: [String])] = [
        ("function(doc) { emit(doc.a, doc.b.c) }", ["a", "b"]),
        ("function (doc) { if (doc.a) emit(doc.a, null); };", ["a"]),
        ("(function(doc) { emit(doc.a) })", ["a"]),
        ("function named(doc) { emit(doc . a, doc\n.b) }", ["a", "b"]),
        ("function doc(doc) { emit(doc.a) }", ["a"]),
        ("doc => emit(doc?.a)", ["a"]),
        ("($) => { emit($.$, $.$a) }", ["$", "$a"]),
        ("function(doc) { emit(doc['a'], doc[ \"b c\" ]) }", ["a", "b c"]),
        ("function(doc) { if (doc.type === 'doc') emit(doc.a, \"a doc\") }", ["type", "a"]),
        ("function(doc) { /* the doc */ emit(doc.a) // of a doc\n}", ["a"]),
        ("function(doc) { emit('it\\'s', doc.a) /* doc */ }", ["a"]),
        ("function(doc) { doc.a = 2; delete doc.b; emit(doc.a, doc.b) }", ["a", "b"]),
        ("function(doc) { docs = 1; var mydoc = docs; emit(mydoc, doc.a) }", ["a"]),
        ("function(doc) { emit(`${doc.a}`, doc.b / 2) }", ["a", "b"]),
        ("function(doc) { emit([doc.a,doc.b]) }", ["a", "b"]),
        ("function(doc) { doc.a.forEach(one => emit(one.c)) }", ["a"]),
        ("function(doc) { emit(1) }", []),
        ("function(doc) { emit(doc._id, doc._rev) }", ["_id", "_rev"]),
    ]

    /// Functions that may read anything, or of which the text does not show what.
    private static let unreadable = [
        "function(doc) { doc.a.forEach(function(doc) { emit(doc.c) }) }",
        "function(doc) { emit(doc.a.doc) }",
        "function(doc) { emit(doc) }", "function(doc) { for (var key in doc) emit(key) }",
        "function(doc) { var other = doc; emit(other.a) }", "function(doc) { emit('a' in doc) }",
        "function(doc) { emit({doc}) }", "function(doc) { emit({...doc}) }",
        "function(doc) { emit(doc['a' + 'b'], doc[doc.a]) }", "function(doc) { emit(doc['doc']) }",
        "function(doc) { emit(doc['\\x61']) }", "function(doc) { emit(d\\u006fc.b, doc.a) }",
        "function(doc) { emit(doc.\\u0061) }", "function(doc) { emit(doc.größe, doc.a) }",
        "function(doc) { emit(doc.valueOf().a) }",
        "function(doc) { emit(doc.hasOwnProperty('a')) }",
        "function(doc) { emit(doc.__proto__ === doc['__proto__']) }",
        "function(doc) { emit(arguments[0].a) }", "function(doc) { with (doc) emit(a) }",
        "function(doc) { emit(`a doc`, doc.a) }", "function(doc) { emit(/doc/.test(doc.a)) }",
        "function(doc) { emit(/[/*]/.test('x'), doc /* */ ) }",
        "function(doc) { emit('//', doc) /* ' */ }",
        "function(doc) { emit(1 <!-- ' doc '\n, doc) }",
        "function(doc) { let doc2 = '\\\n// '; emit(doc) }",
        "function(doc, other) { emit(doc.a) }", "function(doc = {}) { emit(doc.a) }",
        "function(...doc) { emit(doc[0].a) }", "({a}) => emit(a)", "function() { emit(1) }",
        "function(/* doc */ doc) { emit(doc.a) }", "async (doc) => { emit(doc.a) }",
        "function*(doc) { emit(doc.a) }", "function(doc) { emit(1) }.bind(null)",
        "(function() { return function(doc) { emit(doc.a) } })()",
        "function(doc) { emit(doc.a) }, function(one) { emit(one) }",
        "function(doc) { two(doc) };\nfunction two(one) { emit(one.b) }",
        "new Proxy(function(doc) { emit(doc.a) }, {})", "require('views/lib/map').map",
    ]

    private static let documents = [
        #"{"_id":"a","_rev":"1-a","a":1,"b":{"c":[1,2]},"type":"doc"}"#,
        #"{"_id":"b\ttab","_rev":"1-b","a":[{"c":1},{"c":2}],"b":2,"b c":"x","$":0,"$a":null}"#,
        #"{"_id":"c","_rev":"2-c","größe":3,"doc":4,"ab":5,"__proto__":{"a":6},"hasOwnProperty":7}"#,
        #"{"_id":"d","_rev":"1-d"}"#,
    ]

    private static let library =
        #"["add_lib",{"map":"exports.map = function(doc) { emit(doc.a, doc.b) }"}]"#

    /// A worker that knows a function; nil where it is in a syntax that Duktape does not have.
    private func reader(_ source: String, _ engine: JavaScriptEngine) throws -> Worker? {
        do {
            return try worker(source, engine: engine)
        } catch let error as ScriptError
            where engine == .duktape && error.name == "compilation_error"
        {
            return nil
        }
    }

    private func worker(
        _ sources: String..., engine: JavaScriptEngine
    ) throws -> Worker {
        let worker = try Worker(engine: engine)
        try worker.ask(Self.library)
        for source in sources { try worker.add(source) }
        return worker
    }

    /// What a worker answers to documents in one line, and what it logs.
    private func map(_ documents: [String], by worker: Worker, _ word: String = "map_docs") throws
        -> [ScriptAnswer]
    {
        let line = "[\"\(word)\"]" + documents.map { "\t\($0)" }.joined() + "\n"
        return try worker.worker.ask(Array(line.utf8), count: documents.count)
    }

    private func text(_ answer: ScriptAnswer) -> [String] {
        answer.logs + [String(decoding: answer.line, as: UTF8.self)]
    }

    /// The same without the ID that an exception is logged with, which the worker may not know.
    private func textWithoutIDs(_ answer: ScriptAnswer) -> [String] {
        text(answer).map { $0.replacing(#/ with doc._id .*/#, with: "") }
    }

    @Test(arguments: Engine.here)
    func `what a function reads is seen where its text shows it`(engine: JavaScriptEngine) throws {
        for (source, names) in Self.readable {
            let text = try reader(source, engine)?.ask(#"["properties"]"#)
            let expected = JSONWriter.string(.array(names.map { .string($0) }))
            #expect(text == expected || text == nil, "\(source)")
        }
    }

    @Test(arguments: Engine.here)
    func `a function that may read anything gets whole documents`(engine: JavaScriptEngine) throws {
        for source in Self.unreadable {
            let text = try reader(source, engine)?.ask(#"["properties"]"#)
            #expect(text == "null" || text == nil, "\(source)")
        }
        let many = (0..<40).map { "doc.p\($0)" }.joined(separator: ",")
        let all = try worker("function(doc) { emit([\(many)]) }", engine: engine)
        #expect(try all.ask(#"["properties"]"#) == "null")
    }

    @Test(arguments: Engine.here)
    func `several functions read what one of them reads`(engine: JavaScriptEngine) throws {
        let first = "function(doc) { emit(doc.a) }"
        #expect(
            try worker(first, "function(doc) { emit(doc.b, doc.a) }", engine: engine)
                .ask(#"["properties"]"#) == #"["a","b"]"#)
        let any = try worker(first, "function(doc) { emit(doc) }", engine: engine)
        #expect(try any.ask(#"["properties"]"#) == "null")
        #expect(try worker(engine: engine).ask(#"["properties"]"#) == "[]")
    }

    @Test(arguments: Engine.here)
    func `rows of the properties that functions read are those of whole documents`(
        engine: JavaScriptEngine
    ) throws {
        for source in Self.readable.map(\.source) + Self.unreadable {
            guard let worker = try reader(source, engine) else { continue }
            let names = try JSONParser.parse(worker.ask(#"["properties"]"#)).array
            let sent = try Self.documents.map { document -> String in
                guard let names, let object = try JSONParser.parse(document).object else {
                    return document
                }
                var part: JSONObject = [:]
                for name in names.compactMap({ $0.string }) { part[name] = object[name] }
                return JSONWriter.string(.object(part))
            }
            let together = try map(sent, by: worker).map(textWithoutIDs)
            let apart = try Self.documents.map {
                textWithoutIDs(try worker.answer("[\"map_doc\",\($0)]"))
            }
            #expect(together == apart, "\(source)")
        }
    }

    @Test(arguments: Engine.here)
    func `each document of a line is mapped by a call of its own`(engine: JavaScriptEngine) throws {
        let worker = try worker(
            """
            function(doc) { doc.n++; count = typeof count; emit(doc.n, count); \
            registerType('own', 'x/' + doc.n); if (doc.n < 7) log(doc._id) }
            """,
            "function(doc) { emit(doc.n) }", engine: engine)
        let answers = try map(
            [#"{"_id":"a","n":1}"#, #"{"_id":"b","n":5}"#, #"{"n":7}"#, #"{"n":8}"#], by: worker)
        #expect(
            answers.map(text) == [
                ["a", #"[[[2,"undefined"]],[[1,null]]]"#],
                ["b", #"[[[6,"undefined"]],[[5,null]]]"#],
                [#"[[[8,"undefined"]],[[7,null]]]"#], [#"[[[9,"undefined"]],[[8,null]]]"#],
            ])
    }

    @Test(arguments: Engine.here)
    func `functions of search indexes map many documents, too`(engine: JavaScriptEngine) throws {
        let search = try worker("function(doc) { index('t', doc.a) }", engine: engine)
        #expect(
            try map([#"{"a":"x"}"#, #"{"a":"y"}"#], by: search, "index_docs").flatMap(text)
                == [#"[[["t","x",{}]]]"#, #"[[["t","y",{}]]]"#])
        let nouveau = try worker("function(doc) { index('string', 't', doc.a) }", engine: engine)
        #expect(
            try map([#"{"a":"x"}"#], by: nouveau, "nouveau_index_docs").flatMap(text)
                == [#"[[{"@type":"string","name":"t","value":"x"}]]"#])
    }

    @Test(arguments: Engine.here)
    func `an error that ends the command ends it for all documents of the line`(
        engine: JavaScriptEngine
    ) throws {
        let fatal = try worker(
            "function(doc) { log(doc.n); if (doc.n == 2) throw ['fatal', 'mine', 'why'] }",
            engine: engine)
        #expect {
            try map([#"{"n":1}"#, #"{"n":2}"#, #"{"n":3}"#], by: fatal)
        } throws: { error in
            (error as? ScriptError)?.name == "mine"
        }
        #expect(fatal.worker.isOver)
        let broken = try worker("function(doc) {}", engine: engine)
        #expect(throws: ScriptError.self) { try map(["{}", "{", "{}"], by: broken) }
    }

    @Test(arguments: Engine.here)
    func `each document of a line has the whole time`(engine: JavaScriptEngine) throws {
        var limits = JavaScriptLimits()
        limits.time = .milliseconds(1_500)
        let worker = try Worker(limits, engine: engine)
        // On a busy machine it takes longer by the clock, but then that of the parent counts as well.
        try worker.add(
            "function(doc) { var end = Date.now() + doc.time; while (Date.now() < end); }")
        let patient = try map([String](repeating: #"{"time":150}"#, count: 20), by: worker)
        #expect(patient.count == 20)
        #expect {
            try map([#"{"time":1}"#, #"{"time":100000}"#], by: worker)
        } throws: { error in
            (error as? ScriptError)?.code == .timeLimit
        }
    }
}
