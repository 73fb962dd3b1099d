// SPDX-License-Identifier: Apache-2.0

import DivanDesign
import DivanJSON
import Divan
import Testing

@testable import DivanListener

/// What `_bulk_docs` answers where documents fail, and others were saved.
@Suite struct BulkFailureTests {
    private let site: TestSite
    private let database: Database

    /// A site with a database whose validation fails as the property `fails` of a document says.
    init() throws {
        site = try TestSite()
        database = try site.manager.database(named: "db")
        database.setValidation(named: "fails") { revision, _ in
            guard let kind = revision["fails"].string else { return }
            let count = revision["count"].int64.map(Int.init) ?? 3
            let reason = String(repeating: "é", count: count)
            if kind == "throws" {
                throw DatabaseError(
                    .forbidden, reason, documentID: revision.id,
                    underlying: ScriptError.script(name: "unknown_error", reason: reason))
            }
            throw DatabaseError(.io, "The disk is gone.")
        }
    }

    private func send(_ documents: [String], _ more: String = "") -> TestAnswer {
        site.send(
            "POST", "/db/_bulk_docs", "{\"docs\":[\(documents.joined(separator: ","))]\(more)}")
    }

    private func good(_ count: Int) -> [String] { (0..<count).map { #"{"_id":"d\#($0)"}"# } }

    @Test(arguments: [1, 11_000])
    func `a script that throws refuses its own document, also behind thousands that are saved`(
        count: Int
    ) throws {
        let answer = send(good(count) + [#"{"_id":"bad","fails":"throws"}"#, #"{"_id":"last"}"#])
        #expect(answer.status == 201)
        let rows = try #require(answer.json.array)
        #expect(rows.count == count + 2)
        let bad: JSONValue = ["id": "bad", "error": "unknown_error", "reason": "ééé"]
        #expect(rows[count] == bad)
        #expect(rows.last?["ok"] == true)
        #expect(try database.documentCount == count + 1)
    }

    @Test func `where a part was saved, a failure of the database is told of what was not`() throws
    {
        // The first ten thousand are a transaction of their own.
        let answer = send(good(10_500) + [#"{"_id":"bad","fails":"disk"}"#, #"{"_id":"last"}"#])
        #expect(answer.status == 201)
        let rows = try #require(answer.json.array)
        #expect(rows.count == 10_502)
        let saved = rows.prefix { $0["ok"] == true }.count
        #expect(saved >= 10_000)
        #expect(try database.documentCount == saved)
        for row in rows.dropFirst(saved) {
            #expect(row["error"] == "internal_server_error")
            #expect(row["reason"] == "The system could not read or write.")
        }
        #expect(rows.last?["id"] == "last")
    }

    @Test func `where nothing was saved, a failure of the database is the request's`() throws {
        #expect(send(good(2) + [#"{"_id":"bad","fails":"disk"}"#]).status == 500)
        #expect(try database.documentCount == 0)
    }

    @Test func `one failure undoes all where that is asked for, and is the request's`() throws {
        let all = good(2) + [#"{"_id":"bad","fails":"throws"}"#]
        #expect(send(all, #","all_or_nothing":true"#).status == 500)
        #expect(try database.documentCount == 0)
    }

    @Test func `a long reason is cut, and does not keep the answer from being given`() throws {
        let bad = #"{"_id":"bad","fails":"throws","count":200000}"#
        let answer = send(good(1) + [bad])
        #expect(answer.status == 201)
        let reason = try #require(answer.json.array?.last?["reason"]?.string)
        #expect((1_000...4_096).contains(reason.utf8.count))
        #expect(reason.utf8.count % 2 == 0)
        let many = send((0..<2_000).map { #"{"_id":"b\#($0)","fails":"throws","count":9000}"# })
        #expect(many.status == 201)
        #expect(many.json.array?.count == 2_000)
        #expect(many.bytes.count < 2_000 * 1_024)
    }
}
