// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import Testing

@testable import DivanListener

/// What transcripts cannot show: functions of the app, bytes, answers that are large.
@Suite struct RoutesTests {
    private func people() throws -> (TestSite, Database) {
        let site = try TestSite()
        let database = try site.manager.database(named: "db")
        for (id, age) in [("a", 30), ("b", 20), ("c", 30)] as [(String, Int64)] {
            try database.save(MutableDocument(["age": .integer(age)], id: DocumentID(id)))
        }
        database.view(named: "people/byAge").setMap(version: "1", reduce: .count) {
            document, emit in
            emit(document["age"], nil)
        }
        return (site, database)
    }

    @Test func `a view of the app is served under its design document`() throws {
        let (site, _) = try people()
        let path = "/db/_design/people/_view/byAge"
        let rows = site.send("GET", path + "?reduce=false").json
        #expect(rows["total_rows"]?.int64 == 3)
        #expect(rows["rows"]?.array?.compactMap { $0["id"]?.string } == ["b", "a", "c"])
        let count = site.send("GET", path).json
        #expect(count["rows"]?[0]?["value"]?.int64 == 3)
        let groups = site.send("GET", path + "?group=true").json["rows"]
        #expect(groups?[1]?["key"]?.int64 == 30)
        #expect(groups?[1]?["value"]?.int64 == 2)
        let keyed = site.send(
            "GET", path + "?reduce=false&key=30&include_docs=true&descending=true")
        #expect(keyed.json["rows"]?[0]?["doc"]?["_id"]?.string == "c")
        let posted = site.send("POST", path + "?reduce=false", #"{"keys":[20]}"#)
        #expect(posted.json["rows"]?.array?.count == 1)
        let many = site.send(
            "POST", path + "/queries", #"{"queries":[{},{"reduce":false,"limit":1}]}"#)
        #expect(many.json["results"]?.array?.count == 2)
    }

    @Test func `views of design documents whose names hold slashes are views of their own`() throws
    {
        let site = try TestSite { options in
            options.scripts = [PathRuntime(["javascript"])]
        }
        let database = try site.manager.database(named: "db")
        let names = NameSet(["a", "a/b", "a%2Fb", "m", "m/\u{301}"])
        try database.save(
            MutableDocument(
                JSONObject(names.map { (key: $0, value: JSONValue.string($0)) }),
                id: "x"))
        let views: [(design: String, view: String, path: String)] = [
            ("a", "b/c", "a/_view/b%2Fc"), ("a/b", "c", "a%2Fb/_view/c"),
            ("a%2Fb", "c", "a%252Fb/_view/c"), ("m", "\u{301}/x", "m/_view/%CC%81%2Fx"),
            ("m/\u{301}", "x", "m%2F%CC%81/_view/x"),
        ]
        for (design, view, _) in views {
            let body: JSONObject = ["views": [view: ["map": .string(design)]]]
            try database.save(MutableDocument(body, id: "_design/\(design)"))
        }
        for _ in 0..<2 {
            for (design, _, path) in views {
                let rows = site.send("GET", "/db/_design/" + path).json["rows"]
                #expect(rows?[0]?["key"]?.string == design, "\(path)")
            }
        }
        #expect(try database.viewNames().count == views.count)
        database.view(named: "q%2Fr/s").setMap(version: "1") { _, emit in emit("app") }
        let own = site.send("GET", "/db/_design/q%2Fr/_view/s").json["rows"]
        #expect(own?[0]?["key"]?.string == "app")
    }

    @Test func `what a client writes into a word of a path is no part of a pattern`() throws {
        let (site, _) = try people()
        let view = "%7Bddoc%7D%2F_view%2F%7Bname%7D"
        let targets = [
            "/db/_design/people/_view%2F%7Bname%7D", "/db/_design/people/_view%2FbyAge",
            "/db/_index%2F%7Bddoc%7D%2Fjson%2F%7Bname%7D", "/db/_compact%2F%7Bddoc%7D",
            "/db/_design%2Fpeople/_view%2F" + view, "/_scheduler%2Fdocs%2F%7Bdb%7D%2F%7Bdoc%7D",
            "/db/_all_docs%2Fqueries", "/_scheduler%2Fjobs",
        ]
        for target in targets {
            for method in ["GET", "POST", "PUT", "DELETE"] {
                let status = site.send(method, target, "{}").status
                #expect((400..<500).contains(status), "\(method) \(target): \(status)")
            }
        }
        #expect(site.send("GET", "/db/_all_docs").status == 200)
    }

    @Test func `an index is not deleted under another one's name`() throws {
        let (site, _) = try people()
        let body = #"{"index":{"fields":["age"]},"ddoc":"a","name":"b/c"}"#
        #expect(site.send("POST", "/db/_index", body).status == 200)
        #expect(site.send("DELETE", "/db/_index/a%2Fb/json/c").status == 404)
        #expect(site.send("DELETE", "/db/_index/a/json/b%2Fc").status == 200)
    }

    @Test func `options that make no sense for a view are refused`() throws {
        let (site, database) = try people()
        database.view(named: "people/plain").setMap(version: "1") { _, emit in emit(1, nil) }
        let view = "/db/_design/people/_view/"
        #expect(site.send("GET", view + "plain?group=true").status == 400)
        #expect(site.send("GET", view + "plain?reduce=true").status == 400)
        #expect(site.send("GET", view + "byAge?include_docs=true").status == 400)
        #expect(site.send("GET", view + "byAge?startkey=[").status == 400)
        #expect(site.send("GET", view + "none").status == 404)
    }

    @Test func `views of design documents are made by the runtime of their language`() throws {
        let site = try TestSite { $0.scripts = [PathRuntime()] }
        let database = try site.manager.database(named: "db")
        try database.save(MutableDocument(["n": 7], id: "d"))
        let design = #"{"language":"path","views":{"v":{"map":"n","reduce":"_sum"}}}"#
        #expect(site.send("PUT", "/db/_design/x", design).status == 201)
        let rows = site.send("GET", "/db/_design/x/_view/v?reduce=false").json["rows"]
        #expect(rows?[0]?["key"]?.int64 == 7)
        #expect(site.send("GET", "/db/_design/x/_view/lib").status == 404)
        let other = #"{"views":{"v":{"map":"function(doc) {}"}}}"#
        #expect(site.send("PUT", "/db/_design/y", other).status == 201)
        let refused = site.send("GET", "/db/_design/y/_view/v")
        #expect(refused.status == 500)
        #expect(refused.json["error"]?.string == "unknown_query_language")
    }

    @Test func `a filter of the app narrows a feed`() throws {
        let (site, database) = try people()
        database.setFilter(named: "d/older") { document, parameters in
            document.int(forKey: "age") > Int(parameters["than"]?.string ?? "") ?? 0
        }
        let feed = site.send("GET", "/db/_changes?filter=d/older&than=25").json
        #expect(feed["results"]?.array?.compactMap { $0["id"]?.string } == ["a", "c"])
        #expect(feed["last_seq"]?.place == 3)
    }

    @Test func `filters of design documents are run by the runtime of their language`() throws {
        let site = try TestSite { $0.scripts = [PathRuntime()] }
        let database = try site.manager.database(named: "db")
        for n in 1...3 {
            try database.save(MutableDocument(["n": .integer(Int64(n))], id: "d\(n)"))
        }
        func ids(_ filter: String) -> [String]? {
            site.send("GET", "/db/_changes?filter=\(filter)").json["results"]?.array?
                .compactMap { $0["id"]?.string }
        }
        let design = #"{"language":"path","filters":{"above":"n","a/b":"n"}}"#
        #expect(site.send("PUT", "/db/_design/x", design).status == 201)
        #expect(ids("x/above&than=1") == ["d2", "d3"])
        #expect(ids("x/a%2Fb&than=2") == ["d3"])
        // The app's own goes first, and a changed document changes its filter.
        database.setFilter(named: "x/above") { document, _ in document.id == "d1" }
        #expect(ids("x/above&than=1") == ["d1"])
        #expect(site.send("GET", "/db/_changes?filter=x/none").status == 404)
        #expect(site.send("GET", "/db/_changes?filter=none/above").status == 404)
        let other = #"{"filters":{"f":"function(doc, req) {}"}}"#
        #expect(site.send("PUT", "/db/_design/y", other).status == 201)
        let refused = site.send("GET", "/db/_changes?filter=y/f")
        #expect(refused.status == 500)
        #expect(refused.json["error"] == "unknown_query_language")
    }

    @Test func `without a runtime a filter of a design document is not implemented`() throws {
        let site = try TestSite()
        _ = try site.manager.database(named: "db")
        #expect(site.send("PUT", "/db/_design/y", #"{"filters":{"f":"x"}}"#).status == 201)
        #expect(site.send("GET", "/db/_changes?filter=y/f").status == 501)
        #expect(site.send("GET", "/db/_changes?filter=y/g").status == 404)
    }

    @Test func `an attachment longer than the limit is refused, however it comes`() throws {
        let site = try TestSite { $0.limits.attachment = 4 }
        _ = try site.manager.database(named: "db")
        #expect(site.send("PUT", "/db/a/x", "four").status == 201)
        let long = site.send("PUT", "/db/b/x", "five5")
        #expect(long.status == 413)
        #expect(long.json["error"] == "attachment_too_large")
        func inline(_ data: String) -> String { #"{"_attachments":{"x":{"data":"\#(data)"}}}"# }
        #expect(site.send("PUT", "/db/c", inline("Zm91cg==")).status == 201)
        #expect(site.send("PUT", "/db/d", inline("Zml2ZTU=")).status == 413)
        let many = site.send("POST", "/db/_bulk_docs", #"{"docs":[\#(inline("Zml2ZTU=")),{}]}"#)
        #expect(many.status == 201)
        #expect(many.json[0]?["error"] == "attachment_too_large")
        #expect(many.json[1]?["ok"] == true)
        let document = #"{"_attachments":{"x":{"follows":true,"length":5}}}"#
        let parts = "--b\r\n\r\n\(document)\r\n--b\r\n\r\nfive5\r\n--b--"
        #expect(
            site.send("PUT", "/db/e", parts, ["Content-Type": "multipart/related; boundary=b"])
                .status == 413)
        #expect(site.send("GET", "/db").json["doc_count"] == 3)
    }

    @Test func `a type of content that holds line ends breaks no multipart answer`() throws {
        let site = try TestSite()
        let database = try site.manager.database(named: "db")
        let document = MutableDocument([:], id: "a")
        document.setAttachment(
            named: "x\r\ny\"", contentType: "text/plain\r\nX-Evil: 1\r\n\r\nnot the content",
            .bytes(Array("content".utf8)))
        try database.save(document)
        let answer = site.send(
            "GET", "/db/a?attachments=true", "", ["Accept": "multipart/related"])
        var reader = try MultipartReader(contentType: answer.headers["Content-Type"])
        reader.push(Array(answer.text.utf8))
        var contents: [[UInt8]] = []
        while let event = try reader.next() {
            switch event {
            case .partBegan(let headers):
                #expect(headers["X-Evil"] == nil)
                contents.append([])
            case .bytes(let bytes): contents[contents.count - 1] += bytes
            default: break
            }
        }
        try reader.finish()
        #expect(contents.count == 2)
        #expect(contents.last == Array("content".utf8))
    }

    @Test func `a boundary ends a part only where a line begins with it`() throws {
        let site = try TestSite()
        let database = try site.manager.database(named: "db")
        let document = #"{"_attachments":{"x":{"follows":true},"y":{"follows":true}}}"#
        let content = "one --b two--b--\r\n--bee\r\n --b\r\n-"
        let parts =
            "before\r\n--b\r\n\r\n\(document)\r\n--b\r\nContent-Disposition: attachment; filename=\"x\"\r\n\r\n"
            + "\(content)\r\n--b \t\r\nContent-Disposition: attachment; filename*=UTF-8''y\r\n\r\n\r\n--b--\r\nbehind"
        #expect(
            site.send("PUT", "/db/a", parts, ["Content-Type": "multipart/related; boundary=b"])
                .status == 201)
        let saved = try #require(try database.document(withID: "a"))
        #expect(try saved.attachment(named: "x")?.content() == Array(content.utf8))
        #expect(try saved.attachment(named: "y")?.content() == [])
        let cut = String(parts.dropLast(12))
        #expect(
            site.send("PUT", "/db/b", cut, ["Content-Type": "multipart/related; boundary=b"])
                .status == 400)
    }

    /// `{"a":1}` as gzip.
    private static let gzip: [UInt8] = [
        0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, 2, 0xFF, 0xAB, 0x56, 0x4A, 0x54, 0xB2, 0x32, 0xAC, 0x05, 0,
        0xAF, 0xAC, 0x1B, 0x56, 0x07, 0, 0, 0,
    ]

    @Test func `a body may be gzip, and not too much of it`() throws {
        let site = try TestSite { $0.limits.jsonBody = 100 }
        _ = try site.manager.database(named: "db")
        let coded: HTTPHeaders = ["Content-Encoding": "gzip"]
        #expect(site.send("PUT", "/db/d", Self.gzip, coded).status == 201)
        #expect(site.send("GET", "/db/d").json["a"]?.int64 == 1)
        #expect(site.send("PUT", "/db/e", Array(Self.gzip.dropLast(9)), coded).status == 400)
        #expect(site.send("PUT", "/db/e", Self.gzip, ["Content-Encoding": "br"]).status == 415)
        let small = try TestSite { $0.limits.jsonBody = 5 }
        _ = try small.manager.database(named: "db")
        #expect(small.send("PUT", "/db/d", Self.gzip, coded).status == 413)
    }

    @Test func `a long list comes whole, though read in steps`() throws {
        let site = try TestSite()
        let database = try site.manager.database(named: "db")
        try database.inBatch {
            for number in 0..<2_500 {
                try database.save(MutableDocument([:], id: "d\(10_000 + number)"))
            }
        }
        for options in [
            "", "?descending=true", "?skip=1200", "?limit=2100", "?startkey=\"d10500\"",
        ] {
            let answer = site.send("GET", "/db/_all_docs" + options)
            let ids = answer.json["rows"]?.array?.compactMap { $0["id"]?.string } ?? []
            let expected =
                switch options {
                case "?skip=1200": 1_300
                case "?limit=2100": 2_100
                case "?startkey=\"d10500\"": 2_000
                default: 2_500
                }
            #expect(ids.count == expected, "\(options)")
            #expect(Set(ids).count == ids.count)
            #expect(
                ids == ids.sorted(by: options == "?descending=true" ? { $0 > $1 } : { $0 < $1 }))
        }
        let changes = site.send("GET", "/db/_changes").json["results"]?.array ?? []
        #expect(changes.count == 2_500)
        let back = site.send("GET", "/db/_changes?descending=true").json["results"]?.array ?? []
        #expect(back.count == 2_500)
        #expect(back.first == changes.last)
    }

    @Test(arguments: DatabaseError.Code.allCases)
    func `every error of the database has a status, a name and a reason`(_ code: DatabaseError.Code)
    {
        let error = DatabaseError(code, "A sentence with /a/path in it.")
        let failure = ErrorResponse.failure(for: error)
        #expect((400...599).contains(failure.status))
        #expect(!failure.error.isEmpty)
        #expect(!failure.reason.isEmpty)
        // What the system says about its files is not for clients.
        if [.io, .databaseNotFound, .corrupted, .storageFull, .readOnly].contains(code) {
            #expect(!failure.reason.contains("/a/path"))
        }
    }

    @Test func `ranges are read as CouchDB reads them, however large their numbers`() {
        let largest = "\(Int.max)"
        #expect(ByteRange.parse("bytes=0-\(largest)", length: 10) == .part(0..<10))
        #expect(ByteRange.parse("bytes=9-9", length: 10) == .part(9..<10))
        #expect(ByteRange.parse("bytes=-\(largest)", length: 10) == .part(0..<10))
        #expect(ByteRange.parse("bytes=\(largest)-", length: 10) == .unsatisfiable)
        #expect(ByteRange.parse("bytes=-0", length: 10) == .unsatisfiable)
        #expect(ByteRange.parse("bytes=0-", length: 0) == .whole)
        #expect(ByteRange.parse("bytes=0-", length: 10) == .whole)
        #expect(ByteRange.parse("bytes=5-2", length: 10) == .unsatisfiable)
        #expect(ByteRange.parse("bytes=0-1,3-4", length: 10) == .parts([0..<2, 3..<5]))
        for ignored in ["bytes=a-b", "bytes=-", "lines=1-2", "bytes"] {
            #expect(ByteRange.parse(ignored, length: 10) == .whole, "\(ignored)")
        }
    }

    @Test func `every pattern of the table can be reached, and none stands twice`() {
        let keys = Router.table.map { "\($0.method) \($0.pattern)" }
        #expect(Set(keys).count == keys.count)
        for route in Router.table {
            let path = route.pattern
                .split(separator: "/").map { part in
                    switch part {
                    case "{db}": "db"
                    case let part where part.hasPrefix("{"): "name"
                    default: String(part)
                    }
                }
            #expect(Resource(path).pattern == route.pattern, "\(route.pattern)")
        }
    }

    @Test func `a feed may tell of the documents that a view has rows of`() throws {
        let site = try TestSite()
        let database = try site.manager.database(named: "db")
        database.view(named: "people/adults").setMap(version: "1") { document, emit in
            if document["age"].int ?? 0 >= 18 { emit(document["name"], nil) }
        }
        try database.save(MutableDocument(["age": 40], id: "ann"))
        try database.save(MutableDocument(["age": 7], id: "bob"))
        let feed = site.send("GET", "/db/_changes?filter=_view&view=people/adults").json
        #expect(feed["results"]?.array?.compactMap { $0["id"]?.string } == ["ann"])
        #expect(site.send("GET", "/db/_changes?filter=_view&view=people/none").status == 404)
        #expect(site.send("GET", "/db/_changes?filter=_view").status == 400)
    }

    @Test func `every option that CouchDB has for rows of a view is taken, by each of its names`()
        throws
    {
        let (site, database) = try people()
        let path = "/db/_design/people/_view/byAge?reduce=false"
        /// The IDs of the rows; nil when the request is refused.
        func ids(_ options: String) -> [String]? {
            let answer = site.send("GET", path + options)
            guard answer.status == 200 else { return nil }
            return answer.json["rows"]?.array?.compactMap { $0["id"]?.string }
        }
        #expect(ids("") == ["b", "a", "c"])
        for (start, end) in [("startkey", "endkey"), ("start_key", "end_key")] {
            #expect(ids("&\(start)=25") == ["a", "c"])
            #expect(ids("&\(end)=25") == ["b"])
            #expect(ids("&\(start)=20&\(end)=30&inclusive_end=false") == ["b"])
            #expect(ids("&descending=true&\(start)=30&\(end)=30") == ["c", "a"])
        }
        for (start, end) in [
            ("startkey_docid", "endkey_docid"), ("start_key_doc_id", "end_key_doc_id"),
        ] {
            #expect(ids("&startkey=30&\(start)=b") == ["c"])
            #expect(ids("&endkey=30&\(end)=a") == ["b", "a"])
        }
        #expect(ids("&key=30") == ["a", "c"])
        #expect(ids("&keys=[20,30]&skip=1&limit=1") == ["a"])
        #expect(ids("&group=true") == nil)
        for option in ["stable=true", "stable=false", "sorted=true", "sorted=false"] {
            #expect(ids("&" + option)?.count == 3, "\(option)")
        }
        let shown = site.send("GET", path + "&update_seq=true").json
        #expect(try shown["update_seq"]?.place == database.lastSequence)
        #expect(site.send("GET", path).json["update_seq"] == nil)
        let grouped = site.send("GET", "/db/_design/people/_view/byAge?group_level=1").json["rows"]
        #expect(grouped?.array?.compactMap { $0["value"]?.int64 } == [1, 2])
    }

    @Test func `rows of a view show conflicts and attachments of their documents when asked`()
        throws
    {
        let site = try TestSite()
        let database = try site.manager.database(named: "db")
        database.view(named: "all/ids").setMap(version: "1") { document, emit in
            emit(document["n"], nil)
        }
        let first = try database.put("a", ["n": 1], parent: nil)
        try database.put("a", ["n": 2], parent: first.revisionID)
        try database.put("a", ["n": 3], parent: first.revisionID, options: .allowConflict)
        site.send("PUT", "/db/b", #"{"n":9,"_attachments":{"x":{"data":"aGk="}}}"#)
        let path = "/db/_design/all/_view/ids?include_docs=true"
        let plain = site.send("GET", path).json["rows"]
        #expect(plain?[0]?["doc"]?["_conflicts"] == nil)
        #expect(plain?[1]?["doc"]?["_attachments"]?["x"]?["stub"] == true)
        let full = site.send("GET", path + "&conflicts=true&attachments=true").json["rows"]
        #expect(full?[0]?["doc"]?["_conflicts"]?.array?.count == 1)
        #expect(full?[1]?["doc"]?["_attachments"]?["x"]?["data"] == "aGk=")
    }
}
