// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanDesign
import DivanJavaScript
import Testing

/// What functions give that is nested deeper than a document may be.
@Suite(.enabled(if: Engine.isHere, Engine.need), .timeLimit(.minutes(5)))
struct DeepValueTests {
    private static let nesting =
        "function nest(n) { var x = 1; for (var i = 0; i < n; i++) x = [x]; return x }"
    private let database: Database

    init() throws {
        database = try Database.inMemory(named: "db")
        database.designDocuments.enable(JavaScriptRuntime(program: Engine.program))
    }

    private func view(_ name: String) throws -> DatabaseView {
        try database.designDocuments.view(name)
    }

    private static func map(_ emissions: String) -> JSONValue {
        ["map": .string("function(doc) { \(nesting); \(emissions) }")]
    }

    @Test(arguments: [("doc._id, nest(doc.n)", 512), ("nest(doc.n), 1", 512)])
    func `a document has no rows in the one view for which it emits something too deep`(
        emission: String, most: Int64
    ) throws {
        for n in [1, most, most + 1, most + 20, 5_000] {
            try database.save(MutableDocument(["n": .integer(n)], id: DocumentID("d\(n)")))
        }
        try database.save(
            MutableDocument(
                [
                    "views": [
                        "deep": Self.map("emit(\(emission)); emit('\"]\\\\', 2)"),
                        "other": ["map": "function(doc) { emit(doc._id, '[[') }"],
                    ]
                ], id: "_design/d"))
        #expect(try view("d/other").query().run().count == 5)
        let rows = try view("d/deep").query().run()
        #expect(Set(rows.compactMap(\.documentID)) == ["d1", DocumentID("d\(most)")])
        #expect(rows.count == 4)
        let failures = try view("d/deep").failures
        #expect(
            Set(failures.map(\.documentID)) == [
                DocumentID("d\(most + 1)"), DocumentID("d\(most + 20)"), "d5000",
            ])
        #expect(failures.allSatisfy { $0.reason.contains("nested deeper than 512 levels") })
        #expect(try view("d/other").failures.isEmpty)
    }

    @Test func `a reduction that is nested too deep is an error of the function`() throws {
        try database.save(MutableDocument([:], id: "a"))
        let reduce: JSONValue = .string("function() { \(Self.nesting); return nest(600) }")
        try database.save(
            MutableDocument(
                ["views": ["v": ["map": "function(doc) { emit(1, 1) }", "reduce": reduce]]],
                id: "_design/d"))
        let error = #expect(throws: DatabaseError.self) { try view("d/v").query().run() }
        let script = error?.underlying as? ScriptError
        #expect(script?.code == .script && script?.name == "nested_too_deep")
        #expect(script?.message.contains("512 levels") == true)
    }

    @Test func `a refusal that is nested too deep is an error of the function, and refuses`() throws
    {
        let rule = "function(doc) { if (doc.n) { \(Self.nesting); throw({forbidden: nest(700)}) } }"
        try database.save(
            MutableDocument(["validate_doc_update": .string(rule)], id: "_design/d"))
        database.designDocuments.enable(
            JavaScriptRuntime(program: Engine.program), validates: true)
        let error = #expect(throws: DatabaseError.self) {
            try database.save(MutableDocument(["n": 1], id: "a"))
        }
        #expect(error?.message.contains("512 levels") == true, "\(error?.message ?? "")")
        #expect(try database.document(withID: "a") == nil)
        try database.save(MutableDocument([:], id: "b"))
    }
}
