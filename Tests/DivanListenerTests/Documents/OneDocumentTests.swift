// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanDatabase
import DivanHTTP
import DivanJSON
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

/// One document that cannot be taken or given never stops the others, no matter which end drives the replication.
@Suite struct OneDocumentTests {
    /// How a body comes to the router.
    enum Way: String, CaseIterable, Sendable { case memory, file, gzip }

    /// A document that cannot be kept.
    struct Bad: Sendable, CustomTestStringConvertible {
        var name: String
        var text: String
        /// What the reason says.
        var reason: String
        /// Whether the answer names it by its ID, and by its revision.
        var namesID = true
        var namesRevision = true
        var error = "forbidden"
        var testDescription: String { name }
    }

    private static func nested(_ levels: Int) -> String {
        String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
    }

    private static func bad(
        _ name: String, _ member: String, _ reason: String, error: String = "forbidden"
    ) -> Bad {
        Bad(
            name: name, text: #"{"_id":"bad","_rev":"1-b",\#(member)}"#, reason: reason,
            error: error)
    }

    private static func id(_ name: String, _ id: String, _ reason: String) -> Bad {
        Bad(name: name, text: #"{"_id":"\#(id)","_rev":"1-b"}"#, reason: reason)
    }

    private static func revision(_ name: String, _ revision: String, _ reason: String) -> Bad {
        Bad(name: name, text: #"{"_id":"bad","_rev":"\#(revision)"}"#, reason: reason)
    }

    /// What is wrong with the document, for every client and every route.
    static let documents: [Bad] = [
        bad("nesting", #""a":\#(nested(600))"#, "deeper than 512 levels"),
        bad("deep nesting", #""a":\#(nested(100_000))"#, "deeper than 512 levels"),
        bad("half a surrogate pair", #""a":"x\ud800y""#, "surrogate"),
        bad("half a surrogate pair in a name", #""x\udc00y":1"#, "surrogate"),
        id("half a surrogate pair in the ID", "x\\ud800", "surrogate"),
        bad("an unknown member", #""_foo":1"#, "_foo"),
        bad("attachments that are none", #""_attachments":7"#, "_attachments"),
        bad("an attachment that is none", #""_attachments":{"a":7}"#, "_attachments"),
        bad(
            "data that is no base64", #""_attachments":{"a":{"data":"%"}}"#,
            "Invalid attachment data for a"),
        bad("_deleted that is none", #""_deleted":"yes""#, "_deleted"),
        bad("too many bytes", #""a":"\#(String(repeating: "a", count: 5_000))""#, "over the limit"),
        bad(
            "content that is not here",
            #""_attachments":{"a":{"stub":true,"digest":"sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00=","length":5}}"#,
            "stub", error: "missing_stub"),
        id("a long ID", String(repeating: "i", count: 4_097), "4096 bytes"),
        id("a reserved ID", "_bad", "underscore"),
        id("an empty ID", "", "must not be empty"),
        Bad(
            name: "an ID that is none", text: #"{"_id":7,"_rev":"1-b"}"#, reason: "string",
            namesID: false),
        Bad(
            name: "no object", text: "7", reason: "JSON object", namesID: false,
            namesRevision: false),
    ]

    /// What is wrong with a revision that was made elsewhere.
    static let revisions: [Bad] = [
        revision("a long digest", "1-" + String(repeating: "r", count: 300), "255 bytes"),
        revision("no generation", "abc", "generation"),
        revision("generation 0", "0-abc", "between 1 and"),
        revision("no digits", "1-" + String(repeating: "z", count: 32), "hexadecimal"),
        Bad(
            name: "no revision", text: #"{"_id":"bad"}"#, reason: "_rev", namesRevision: false),
        Bad(
            name: "a history that is none",
            text: #"{"_id":"bad","_rev":"1-b","_revisions":{"start":"x","ids":[]}}"#,
            reason: "_revisions"),
        Bad(
            name: "a history with half a surrogate pair",
            text: #"{"_id":"bad","_rev":"1-b","_revisions":{"start":1,"ids":["\ud800"]}}"#,
            reason: "surrogate"),
    ]

    private let site: TestSite
    private let database: Database

    init() throws {
        site = try TestSite()
        var options = DatabaseOptions()
        options.create = true
        options.maximumDocumentSize = 4_096
        database = try site.manager.openDatabase(named: "db", options: options)
    }

    private func send(_ path: String, _ text: String, _ way: Way = .memory) throws -> TestAnswer {
        var headers: HTTPHeaders = ["Host": "localhost", "Content-Type": "application/json"]
        let body: RequestBody
        switch way {
        case .memory: body = .bytes(Array(text.utf8))
        case .gzip:
            headers["Content-Encoding"] = "gzip"
            body = .bytes(try #require(GzipCoding.encode(Array(text.utf8))))
        case .file:
            let spool = try SealedSpool()
            try spool.write(Array(text.utf8))
            body = .file(try spool.finish())
        }
        return TestAnswer(
            site.router.respond(
                ListenerRequest(
                    RequestHead(method: "POST", target: "/db/" + path, headers: headers),
                    body: body)))
    }

    @Test(arguments: documents + revisions, Way.allCases)
    func `a revision that cannot be kept is refused by its name, and the others are stored`(
        bad: Bad, way: Way
    ) throws {
        let answer = try send(
            "_bulk_docs",
            #"{"new_edits":false,"docs":[{"_id":"a","_rev":"1-a"},\#(bad.text),{"_id":"c","_rev":"1-c","n":1e400}]}"#,
            way)
        #expect(answer.status == 201)
        // An answer repeats an ID as it was sent, though no text of Swift's can hold it.
        let text = answer.text.replacing(#"\ud800"#, with: "")
        let entries = try #require(try JSONParser.parse(text).array)
        let entry = try #require(entries.first)
        #expect(entries.count == 1)
        #expect(entry["error"] == .string(bad.error))
        #expect(entry["reason"]?.string?.contains(bad.reason) == true, "\(entry)")
        let sent = try? JSONParser.parse(bad.text)
        let id =
            sent.map { bad.namesID ? $0["_id"] : nil } ?? (bad.name.hasSuffix("ID") ? "x" : "bad")
        #expect(entry["id"] == id)
        #expect((entry["rev"] != nil) == bad.namesRevision)
        #expect(try database.document(withID: "a")?.revisionID == "1-a")
        #expect(site.send("GET", "/db/c").text.contains("1e400"))
        #expect(try database.documentCount == 2)
    }

    @Test(arguments: documents, Way.allCases)
    func `an edit that cannot be kept is refused in its place, and the others are saved`(
        bad: Bad, way: Way
    ) throws {
        let text = bad.text.replacingOccurrences(of: #""_rev":"1-b","#, with: "")
            .replacingOccurrences(of: #","_rev":"1-b""#, with: "")
        let answer = try send("_bulk_docs", #"{"docs":[{"_id":"a"},\#(text),{"_id":"c"}]}"#, way)
        #expect(answer.status == 201)
        #expect(try database.documentCount == 2)
        guard let entries = answer.json.array else { return }
        #expect(entries.count == 3)
        #expect(entries[0]["id"] == "a" && entries[0]["ok"] == true)
        #expect(entries[1]["error"] != nil && entries[1]["ok"] == nil)
        #expect(entries[1]["reason"]?.string?.contains(bad.reason) == true, "\(entries[1])")
        #expect(entries[2]["id"] == "c" && entries[2]["ok"] == true)
    }

    @Test func `a document that is longer than a JSON body may be is passed over`() throws {
        let site = try TestSite { $0.limits.jsonBody = 100_000 }
        let database = try site.manager.database(named: "db")
        let long = String(repeating: "l]}[\\\"", count: 100_000)
        let spool = try SealedSpool()
        try spool.write(
            Array(
                #"{"docs":[{"_id":"a","_rev":"1-a"},{"_id":"b","_rev":"1-b","x":"\#(long)"},{"_id":"c","_rev":"1-c"}],"new_edits":false}"#
                    .utf8))
        let answer = TestAnswer(
            site.router.respond(
                ListenerRequest(
                    RequestHead(
                        method: "POST", target: "/db/_bulk_docs",
                        headers: ["Host": "localhost", "Content-Type": "application/json"]),
                    body: .file(try spool.finish()))))
        #expect(answer.status == 201)
        #expect(answer.json.array?.count == 1)
        #expect(answer.json[0]?["id"] == "b" && answer.json[0]?["rev"] == "1-b")
        #expect(answer.json[0]?["error"] == "forbidden")
        #expect(try database.documentCount == 2)
    }

    @Test(arguments: Way.allCases)
    func `a body that is no JSON is refused whole, and says where it goes wrong`(way: Way) throws {
        for body in [
            #"{"docs":[{"_id":"a"},{"_id":"b",}]}"#, #"{"docs":[{"_id":"a"}"#,
            #"{"docs":[{"_id":"a"},]}"#, #"{"docs":[{"_id":"a"}]}x"#,
        ] {
            let answer = try send("_bulk_docs", body, way)
            #expect(answer.status == 400)
            #expect(answer.json["reason"]?.string?.contains("byte") == true, "\(answer.text)")
        }
        #expect(try database.documentCount == 0)
    }

    @Test func `one failure undoes all where that is asked for`() throws {
        let answer = try send(
            "_bulk_docs",
            #"{"all_or_nothing":true,"docs":[{"_id":"a"},{"_id":"b","x":\#(Self.nested(600))}]}"#)
        #expect(answer.status == 400)
        #expect(try database.documentCount == 0)
    }

    // MARK: - What is missing

    @Test func `what cannot be kept here is missing, in the words in which it was asked for`()
        throws
    {
        try database.putExistingRevision("there", [:], history: ["1-a"])
        let long = String(repeating: "i", count: 5_000)
        let digest = "1-" + String(repeating: "r", count: 300)
        let body =
            #"{"there":["1-a","\#(digest)","x"],"\#(long)":["1-a"],"_bad":["1-b"],"x\ud800é":["1-c"],"y":["1-\udc00"],"all":["1-a"]}"#
        let answer = try send("_revs_diff", body)
        #expect(answer.status == 200)
        let expected =
            #"{"there":{"missing":["\#(digest)","x"]},"\#(long)":{"missing":["1-a"]},"_bad":{"missing":["1-b"]},"x\ud800é":{"missing":["1-c"]},"y":{"missing":["1-\udc00"]},"all":{"missing":["1-a"]}}"#
        #expect(answer.text == expected + "\n")
        let missing = try send("_missing_revs", #"{"there":["1-a","x"],"_bad":["1-b"]}"#)
        #expect(missing.text == #"{"missing_revs":{"there":["x"],"_bad":["1-b"]}}"# + "\n")
    }

    @Test(arguments: ["{\"a\":7}", "{\"a\":[7]}", "[]", "{\"a\":[\"1-a\"]", ""])
    func `what lists no revisions is refused`(body: String) throws {
        #expect(try send("_revs_diff", body).status == 400)
    }

    // MARK: - What is fetched

    @Test func `each item of a bulk get has an answer, in its place`() throws {
        try database.putExistingRevision("a", ["n": 1], history: ["1-a"])
        let long = String(repeating: "i", count: 5_000)
        let body =
            #"{"docs":[{"id":"a"},{"rev":"1-a"},7,{"id":"a","rev":"bad"},{"id":"\#(long)"},{"id":"x\ud800"},{"id":"a","x":\#(Self.nested(600))},{"id":7},{"id":"a","atts_since":7},{"id":"a","rev":"1-a"}]}"#
        let answer = try send("_bulk_get", body)
        #expect(answer.status == 200)
        let results = try #require(answer.json["results"]?.array)
        #expect(results.count == 10)
        for index in [0, 9] { #expect(results[index]["docs"]?[0]?["ok"]?["n"] == 1) }
        for index in 1...8 {
            #expect(results[index]["docs"]?[0]?["error"]?["reason"]?.string != nil, "\(index)")
        }
        #expect(results[1]["id"] == .null && results[3]["id"] == "a")
        #expect(results[4]["id"] == .string(long))
        let parts = TestAnswer(
            site.router.respond(
                ListenerRequest(
                    RequestHead(
                        method: "POST", target: "/db/_bulk_get",
                        headers: [
                            "Host": "localhost", "Accept": "multipart/mixed",
                            "Content-Type": "application/json",
                        ]),
                    body: .bytes(Array(body.utf8)))))
        #expect(parts.status == 200)
        #expect(parts.text.components(separatedBy: #""n":1"#).count == 3)
    }

    @Test func `a revision that no document can have is missing among those that are there`() throws
    {
        try database.putExistingRevision("a", ["n": 1], history: ["1-a"])
        let answer = site.send(
            "GET", #"/db/a?open_revs=["bad","1-a"]"#, "", ["Accept": "application/json"])
        #expect(answer.status == 200)
        #expect(answer.json[0]?["missing"] == "bad")
        #expect(answer.json[1]?["ok"]?["n"] == 1)
    }

    /// Makes three documents, of which one has an attachment whose content is then lost.
    private func loseContent() throws -> String {
        for id: DocumentID in ["a", "c"] { try database.put(id, [:], parent: nil) }
        let content = [UInt8]("content that is lost".utf8)
        let revision = try database.put(
            "b", ["n": 1], parent: nil, attachments: ["t": .bytes(content)]
        ).revisionID
        let files = try FileManager.default.subpathsOfDirectory(atPath: site.folder.path)
            .map { site.folder.appending(path: $0) }
        let file = try #require(files.first { (try? Data(contentsOf: $0)) == Data(content) })
        try FileManager.default.removeItem(at: file)
        return revision.description
    }

    @Test func `a document whose content is lost keeps none of the others from a replicator`()
        throws
    {
        let revision = try loseContent()
        let list = site.send(
            "GET", "/db/b?open_revs=all&attachments=true", "", ["Accept": "application/json"])
        #expect(list.json == [["missing": .string(revision)]])
        // PouchDB, which stops at an error, and when an attachment cannot be fetched.
        let body = #"{"docs":[{"id":"a"},{"id":"b"},{"id":"c"}]}"#
        let pouch = try send("_bulk_get?revs=true&latest=true", body).json["results"]
        #expect(pouch?[1]?["docs"] == [["missing": .string(revision)]])
        #expect(pouch?[0]?["docs"]?[0]?["ok"] != nil && pouch?[2]?["docs"]?[0]?["ok"] != nil)
        // Who says that attachments are to stay behind gets the document.
        let stubs = try send("_bulk_get?revs=true&attachments=false", body).json["results"]
        #expect(stubs?[1]?["docs"]?[0]?["ok"]?["n"] == 1)
        let whole = try send("_bulk_get?revs=true&attachments=true", body).json["results"]
        #expect(whole?[1]?["docs"]?[0]?["error"]?["error"] == "missing_content")
        #expect(whole?[2]?["docs"]?[0]?["ok"] != nil)
    }

    /// Stores three documents, of which one is then damaged in the engine's file.
    private func damagedSite() throws -> TestSite {
        let folder = TestSite.newFolder()
        let manager = try Manager(directory: folder)
        let database = try manager.database(named: "db")
        for id: DocumentID in ["a", "b", "c"] {
            try database.put(id, ["text": .string("\(id)xxxxxxxxxx")], parent: nil)
        }
        // The last close moves everything from the log into the main file.
        manager.close()
        let file = folder.appending(path: "db.divan/data-1/\(TestEngine.mainFile)")
        var bytes = try Data(contentsOf: file)
        // An engine that writes pages anew leaves older copies of them behind.
        let copies = bytes.ranges(of: Data("bxxxxxxxxxx".utf8))
        try #require(!copies.isEmpty)
        for copy in copies { bytes[copy.lowerBound + 1] = UInt8(ascii: "y") }
        try bytes.write(to: file)
        return try TestSite(folder: folder)
    }

    @Test func `a damaged document is told of by its name, and the others are given`() throws {
        let site = try damagedSite()
        let items = ["a", "b", "c"].map { #"{"id":"\#($0)"}"# }.joined(separator: ",")
        let bulk = site.send("POST", "/db/_bulk_get?revs=true", #"{"docs":[\#(items)]}"#)
        let results = bulk.json["results"]
        #expect(bulk.status == 200 && bulk.failure == nil)
        #expect(results?[1]?["docs"]?[0]?["error"]?["error"] == "internal_server_error")
        #expect(results?[1]?["docs"]?[0]?["error"]?["id"] == "b")
        #expect(results?[0]?["docs"]?[0]?["ok"] != nil && results?[2]?["docs"]?[0]?["ok"] != nil)
        let parts = site.send("GET", "/db/b?open_revs=all", "", ["Accept": "multipart/mixed"])
        #expect(parts.status == 200)
        #expect(parts.text.contains(#"{"missing":"1-"#))
        let list = site.send("GET", "/db/b?open_revs=all", "", ["Accept": "application/json"])
        #expect(list.json[0]?["missing"] != nil)
    }

    // MARK: - One at a time

    @Test(arguments: documents + revisions)
    func `a single revision that cannot be kept is refused in words that replicators pass over`(
        bad: Bad
    ) throws {
        // What has no name of its own cannot be put by it.
        guard bad.namesID, bad.text.contains(#""_id":"bad""#), bad.name != "no revision" else {
            return
        }
        let answer = site.send("PUT", "/db/bad?new_edits=false", bad.text)
        if bad.error == "missing_stub" {
            #expect(answer.status == 412)
        } else {
            #expect([403, 413].contains(answer.status), "\(answer.status)")
        }
        #expect(answer.json["reason"]?.string?.contains(bad.reason) == true, "\(answer.text)")
        #expect(try database.documentCount == 0)
    }

    @Test func `a single document that cannot be kept is refused with the true reason`() {
        func put(_ text: String) -> TestAnswer { site.send("PUT", "/db/d", text) }
        let deep = put(#"{"a":\#(Self.nested(600))}"#)
        #expect(deep.status == 400)
        #expect(
            deep.json["reason"] == "The body nests deeper than 512 levels of arrays and objects.")
        let surrogate = put(#"{"a":"\ud800"}"#)
        #expect(surrogate.status == 400)
        #expect(
            surrogate.json["reason"]
                == "The body has a string that is no text: at byte 12, expected the other half of a surrogate pair."
        )
        let malformed = put(#"{"a":}"#)
        #expect(malformed.status == 400)
        #expect(
            malformed.json["reason"] == "invalid UTF-8 JSON: at byte 5, expected a value")
        let long = put(#"{"a":"\#(String(repeating: "a", count: 5_000))"}"#)
        #expect(long.status == 413)
        #expect(long.json["error"] == "document_too_large")
        #expect(put(#"{"a":1e400}"#).status == 201)
        #expect(site.send("PUT", "/db/\(String(repeating: "i", count: 4_097))", "{}").status == 400)
    }

    @Test func `a sentence says which parameter nests too deep`() {
        let answer = site.send("GET", "/db/_all_docs?startkey=\(Self.nested(600))")
        #expect(
            answer.json["reason"]
                == "The parameter `startkey` nests deeper than 512 levels of arrays and objects.")
    }
}
