// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import Foundation
import Testing

@testable import DivanListener

/// What a user learns of documents that the app's reading function hides: as much as of documents that do not exist.
///
/// Each request goes to two listeners. One has hidden documents beside those that are shown; the other one never had them.
@Suite struct HiddenDocumentTests {
    private static let revision = RevisionID("1-" + String(repeating: "a", count: 32))
    private static let other = RevisionID("1-" + String(repeating: "b", count: 32))
    private static let ann: HTTPHeaders = ["Authorization": "Basic YW5uOmE="]
    private static let root: HTTPHeaders = ["Authorization": "Basic cm9vdDpy"]

    private static func site(hiding: Bool) throws -> TestSite {
        let site = try TestSite { options in
            options.access = .users(["root": "r"])
            options.authorization.reading = { !$2.id.text.contains("hidden") }
            options.scripts = [PathRuntime()]
        }
        let path = site.folder.path + "/listener.json"
        var file = try AccountsFile.load(path)
        file.users["ann"] = AccountsFile.User(password: "a", roles: [], iterations: 10)
        #expect(file.write(to: path))
        let database = try site.manager.database(named: "db")
        try database.createIndex(PropertyIndex(named: "byN", on: ["n"]))
        database.view(named: "d/v").setMap(version: "1") { document, emit in
            emit(document["n"], ["_id": "hidden"])
        }
        try database.putExistingRevision("_design/s", searches, history: [revision])
        if hiding { try hide(in: database) }
        for (id, n) in [("shown", 1), ("z", 3)] as [(DocumentID, JSONValue)] {
            try put(id, revision, n, in: database)
        }
        return site
    }

    /// A design document that has texts searched.
    private static let searches: JSONObject = [
        "language": "path", "indexes": ["i": ["index": "n"]], "nouveau": ["i": ["index": "n"]],
    ]

    private static func hide(in database: Database) throws {
        for id: DocumentID in ["hidden", "a-hidden", "_design/hidden"] {
            try put(id, revision, 0, in: database)
        }
        for revision in [revision, other] {
            try put("hidden2", revision, 2, in: database)
        }
        try put("hidden-gone", revision, 2, in: database)
        try database.delete("hidden-gone")
    }

    private static func put(
        _ id: DocumentID, _ revision: RevisionID, _ n: JSONValue, in database: Database
    ) throws {
        try database.putExistingRevision(
            id,
            ["n": n, "views": ["x": ["map": "f"]], "_attachments": ["a": ["data": "aGlkZGVu"]]],
            history: [revision])
    }

    // MARK: - Comparing

    /// Numbers that tell how much was written, not what.
    private static let volatile: Set<String> = [
        "seq", "last_seq", "update_seq", "committed_update_seq", "purge_seq", "instance_start_time",
        "db_uuid", "sizes", "disk_size", "execution_time_ms", "bookmark", "update_latency",
        "pending_seq", "committed_seq",
    ]

    private static func lasting(_ value: JSONValue) -> JSONValue {
        switch value {
        case .object(let object):
            var kept: JSONObject = [:]
            for (key, value) in object where !volatile.contains(key) { kept[key] = lasting(value) }
            return .object(kept)
        case .array(let items): return .array(items.map(lasting))
        default: return value
        }
    }

    /// What an answer tells, in one text.
    private static func told(_ answer: TestAnswer) -> String {
        var text = answer.text
        if let json = try? JSONParser.parse(text) {
            text = lasting(json).description
        } else {
            // A feed that goes on has a row in each line.
            text = text.split(separator: "\n").map { line in
                (try? JSONParser.parse(String(line))).map { lasting($0).description }
                    ?? String(line)
            }.joined(separator: "\n")
        }
        if let boundary = answer.headers["Content-Type"].flatMap({
            HeaderParameters($0)["boundary"]
        }) {
            text = text.replacing(boundary, with: "BOUNDARY")
        }
        return "\(answer.status) \(answer.headers["ETag"] ?? "") \(answer.isWaiting) \(text)"
    }

    private struct Asked: CustomStringConvertible {
        var method: String
        var target: String
        var body = ""
        var headers = HiddenDocumentTests.ann

        var description: String { "\(method) \(target) \(body)" }
    }

    private static func asked(
        _ method: String, _ targets: [String], _ bodies: [String] = [""], _ more: HTTPHeaders = [:]
    ) -> [Asked] {
        targets.flatMap { target in
            bodies.map { body in
                var headers = method.hasPrefix("as root ") ? root : ann
                for field in more { headers[field.name] = field.value }
                return Asked(
                    method: method.replacing("as root ", with: ""), target: "/db" + target,
                    body: body, headers: headers)
            }
        }
    }

    /// What is asked of a partition of another database, in which documents are hidden, too.
    private static let partitions: [Asked] = {
        let base = "/db/_partition/p"
        var all = [
            "", "/_all_docs", "/_all_docs?limit=1", "/_design/d/_view/v?limit=1",
            "/_design/s/_search/i?q=*:*", "/_design/s/_search/i?q=default:0&limit=1",
            "/_design/s/_search/i?q=*:*&include_docs=true&sort=%22default%22",
            "/_design/s/_nouveau/i?q=*:*",
            "/_design/s/_nouveau/i?q=default:%5B0%20TO%205%5D&limit=1",
        ].map { Asked(method: "GET", target: base + $0) }
        all += [
            ("/_all_docs", #"{"keys":["p:hidden","p:none"]}"#),
            ("/_all_docs/queries", #"{"queries":[{},{"keys":["p:hidden"]}]}"#),
            ("/_find", #"{"selector":{"n":{"$gte":0}},"execution_stats":true}"#),
            ("/_find", #"{"selector":{"n":{"$gte":0}},"sort":["n"],"limit":1}"#),
            ("/_explain", #"{"selector":{"n":{"$gte":0}}}"#),
            ("/_design/d/_view/v", #"{"keys":[0,1]}"#),
            ("/_design/d/_view/v/queries", #"{"queries":[{"limit":1},{"keys":[0,2]}]}"#),
            ("/_design/s/_search/i", #"{"q":"*:*"}"#), ("/_design/s/_nouveau/i", #"{"q":"*:*"}"#),
        ].map { Asked(method: "POST", target: base + $0.0, body: $0.1) }
        return all + [Asked(method: "GET", target: "/db/_partition")]
    }()

    @Test func `no answer of a partition tells more of a hidden document than of none`() throws {
        let sites = try [true, false].map { hides in
            let site = try Self.site(hiding: false)
            try site.manager.deleteDatabase(named: "db")
            let database = try site.manager.database(named: "db", partitioned: true)
            var index = PropertyIndex(named: "byN", on: ["n"], collation: .unicode)
            index.isPartitioned = true
            try database.createIndex(index)
            let view = database.view(named: "d/v")
            view.isPartitioned = true
            view.setMap(version: "1") { document, emit in emit(document["n"], nil) }
            try database.putExistingRevision(
                "_design/s", Self.searches, history: [Self.revision])
            if hides {
                for id: DocumentID in ["p:hidden", "p:a-hidden"] {
                    try Self.put(id, Self.revision, 0, in: database)
                }
            }
            for (id, n) in [("p:shown", 1), ("p:z", 3)] as [(DocumentID, JSONValue)] {
                try Self.put(id, Self.revision, n, in: database)
            }
            return site
        }
        for asked in Self.partitions {
            let answers = sites.map {
                Self.told($0.send(asked.method, asked.target, asked.body, asked.headers))
            }
            #expect(answers[0] == answers[1], "\(asked)")
            #expect(answers[0].hasPrefix("200") || asked.target == "/db/_partition", "\(asked)")
        }
    }

    private static let lists: [Asked] = {
        var all = asked(
            "GET",
            [
                "", "/_all_docs", "/_all_docs?include_docs=true", "/_all_docs?limit=1",
                "/_all_docs?skip=1", "/_all_docs?descending=true&limit=1",
                "/_all_docs?key=%22hidden%22", "/_all_docs?startkey=%22a%22&limit=1",
                "/_all_docs?include_deleted=true", "/_all_docs?only_conflicts=true",
                "/_all_docs?keys=%5B%22hidden2%22%5D&only_conflicts=true",
                "/_design_docs", "/_design_docs?include_docs=true", "/_local_docs",
                "/_changes", "/_changes?limit=1", "/_changes?descending=true&limit=1",
                "/_changes?style=all_docs&include_docs=true&conflicts=true",
                "/_changes?feed=longpoll", "/_changes?feed=continuous&timeout=60000",
                "/_index", "/_design/d/_view/v", "/_design/d/_view/v?limit=1",
                "/_design/d/_view/v?skip=1&include_docs=true", "/_design/d/_view/v?key=0",
                "/_design/d/_view/v?descending=true&limit=1", "/_design/d/_view/v?update=false",
            ])
        all += asked(
            "POST",
            ["/_all_docs", "/_all_docs?include_docs=true", "/_design_docs", "/_local_docs"],
            [#"{"keys":["hidden","hidden2","hidden-gone","_design/hidden","none"]}"#])
        all += asked(
            "POST",
            ["/_all_docs/queries", "/_design_docs/queries", "/_local_docs/queries"],
            [#"{"queries":[{"limit":1},{"keys":["hidden","none"]}]}"#])
        all += asked(
            "POST", ["/_design/d/_view/v", "/_design/d/_view/v/queries"],
            [#"{"queries":[{"limit":1},{"keys":[0,2]}],"keys":[0,2]}"#])
        all += asked(
            "POST", ["/_changes?filter=_doc_ids"], [#"{"doc_ids":["hidden","hidden-gone"]}"#])
        all += asked(
            "POST", ["/_find"],
            [
                #"{"selector":{"n":0}}"#, #"{"selector":{},"limit":1,"execution_stats":true}"#,
                #"{"selector":{"n":{"$gte":0}},"sort":["n"],"limit":1,"execution_stats":true}"#,
                #"{"selector":{"n":{"$gte":0}},"sort":["n"],"skip":1,"fields":["_id"]}"#,
                #"{"selector":{"_id":"hidden"},"conflicts":true}"#,
            ])
        all += asked(
            "GET",
            ["_search", "_nouveau"].flatMap { service in
                [
                    "q=*:*", "q=default:0", "q=default:[0%20TO%205]&limit=1",
                    "q=*:*&sort=%22default%22",
                    "q=*:*&include_docs=true", "q=default:(0%20OR%201)",
                    "q=*:*&ranges="
                        + (service == "_search"
                            ? "%7B%22default%22:%7B%22a%22:%22%5B0%20TO%202%5D%22%7D%7D"
                            : "%7B%22default%22:%5B%7B%22label%22:%22a%22%7D%5D%7D"),
                ].map { "/_design/s/\(service)/i?\($0)" }
            } + [
                "/_design/s/_search/i?q=*:*&drilldown=%5B%22default%22,%220%22,%221%22%5D",
                // No document that is shown matches: what is refused for a hidden one would tell of it.
                "/_design/s/_search/i?q=plain:0&drilldown=%5B%22plain%22,%220%22%5D",
                "/_design/s/_search/i?q=plain:0&counts=%5B%22plain%22%5D",
                "/_design/s/_search/i?q=*:*&stale=ok", "/_design/s/_nouveau/i?q=*:*&update=false",
                "/_design/s/_search/i?q=*:*&group_field=default",
                "/_design/s/_search/i?q=*:*&group_by=default&limit=1",
                "/_design/s/_search_info/i", "/_design/s/_nouveau_info/i",
                "/_design/s/_search_disk_size/i", "/_design/hidden/_search/i?q=*:*",
                "/_design/hidden/_nouveau/i?q=*:*",
            ])
        all += asked(
            "POST", ["/_design/s/_search/i", "/_design/s/_nouveau/i"], [#"{"q":"*:*"}"#])
        all += asked("POST", ["/_explain"], [#"{"selector":{"n":{"$gte":0}},"sort":["n"]}"#])
        return all
    }()

    /// What is asked of one document, and what changes it without knowing it.
    private static func asked(of id: String) -> [Asked] {
        var all = asked(
            "GET",
            [
                "/\(id)", "/\(id)?rev=\(revision)", "/\(id)?rev=2-c", "/\(id)?open_revs=all",
                "/\(id)?open_revs=%5B%22\(revision)%22%5D&latest=true", "/\(id)?revs_info=true",
                "/\(id)?conflicts=true", "/\(id)/a", "/\(id)/a?rev=\(revision)", "/\(id)/none",
            ])
        all += asked("HEAD", ["/\(id)", "/\(id)/a"])
        all += asked("GET", ["/\(id)"], [""], ["If-None-Match": "\"\(revision)\""])
        all += asked(
            "GET", ["/\(id)?open_revs=all", "/\(id)?open_revs=%5B%22\(revision)%22%5D"],
            [""],
            ["Accept": "multipart/mixed"])
        all += asked(
            "POST",
            ["/_bulk_get", "/_bulk_get?latest=true&revs=true"],
            [
                #"{"docs":[{"id":"\#(id)"}]}"#,
                #"{"docs":[{"id":"\#(id)","rev":"\#(revision)"}]}"#,
            ])
        all += asked(
            "POST", ["/_bulk_get"],
            [#"{"docs":[{"id":"\#(id)"},{"id":"\#(id)","rev":"\#(revision)"}]}"#],
            ["Accept": "multipart/mixed"])
        all += asked(
            "POST", ["/_revs_diff", "/_missing_revs"],
            [#"{"\#(id)":["\#(revision)","2-c"],"none":["1-a"]}"#])
        all += asked(
            "POST", ["/\(id)"],
            ["--b\r\nContent-Disposition: form-data; name=_rev\r\n\r\n2-c\r\n--b--"],
            ["Content-Type": "multipart/form-data; boundary=b", "Referer": "http://localhost/"])
        all += asked("DELETE", ["/\(id)", "/\(id)?rev=2-c", "/\(id)/a", "/\(id)/a?rev=2-c"])
        all += asked("PUT", ["/\(id)?rev=2-c", "/\(id)/a?rev=2-c"], ["{}"])
        all += asked("COPY", ["/\(id)"], [""], ["Destination": "copy"])
        all += asked("COPY", ["/shown"], [""], ["Destination": "\(id)?rev=2-c"])
        all += asked(
            "POST", ["/_bulk_docs"],
            [
                #"{"docs":[{"_id":"\#(id)","_rev":"2-c"}]}"#,
                #"{"docs":[{"_id":"\#(id)","_rev":"2-c","_deleted":true}]}"#,
            ])
        return all
    }

    private static let documents: [Asked] = {
        let ids = ["hidden", "hidden2", "hidden-gone", "_design/hidden"]
        var all = ids.flatMap(asked(of:))
        all += asked(
            "PUT", ["/hidden?new_edits=false"],
            [
                #"{"_rev":"2-c","_attachments":{"b":{"stub":true,"length":6,"revpos":1,"#
                    + #""digest":"sha1-mdcsf8Pi4UWHC+qzfAtw40PqnDs="}}}"#
            ])
        all += asked(
            "GET",
            [
                "/_design/hidden/_info", "/_design/hidden/_view/x", "/_security", "/_revs_limit",
                "/_purged_infos_limit", "/_auto_purge", "/_time_seq", "/_local/hidden",
            ])
        all += asked("POST", ["/_design/hidden/_view/x", "/_ensure_full_commit"], ["{}"])
        all += asked("POST", ["/_design/hidden/_view/x/queries"], [#"{"queries":[{}]}"#])
        all += asked("as root POST", ["/_compact/hidden"])
        return all
    }()

    @Test func `no list tells more of a hidden document than of one that does not exist`() throws {
        let (hiding, without) = (try Self.site(hiding: true), try Self.site(hiding: false))
        for asked in Self.lists {
            let answers = [hiding, without].map {
                Self.told($0.send(asked.method, asked.target, asked.body, asked.headers))
            }
            #expect(answers[0] == answers[1], "\(asked)")
            #expect(!answers[0].hasPrefix("500"), "\(asked)")
        }
    }

    @Test func `no request for a hidden document has another answer than if it did not exist`()
        throws
    {
        let (hiding, without) = (try Self.site(hiding: true), try Self.site(hiding: false))
        for asked in Self.documents {
            let answers = [hiding, without].map {
                Self.told($0.send(asked.method, asked.target, asked.body, asked.headers))
            }
            #expect(answers[0] == answers[1], "\(asked)")
            #expect(!answers[0].hasPrefix("500"), "\(asked)")
        }
    }

    /// Routes that are compared with nothing, as they are for administrators, or tell nothing of documents before.
    private static let exceptions: Set<String> = [
        // For administrators, who see the whole database.
        "POST /{db}/_purge", "GET /{db}/_purged_infos",
        // A document cannot be made where there is one.
        "POST /{db}",
        // Every document is in the one shard, also one that does not exist.
        "GET /{db}/_shards", "GET /{db}/_shards/{doc}",
        // It is not served.
        "POST /{db}/_temp_view",
        // Documents of their own kind.
        "PUT /{db}/_local/{id}", "DELETE /{db}/_local/{id}", "COPY /{db}/_local/{id}",
    ]

    @Test func `every route that may tell of documents is compared`() {
        let compared = Set(
            (Self.lists + Self.documents + Self.partitions).compactMap { asked -> String? in
                guard let target = try? RequestTarget(asked.target) else { return nil }
                let method = asked.method == "HEAD" ? "GET" : asked.method
                return "\(method) \(Resource(target.components).pattern)"
            })
        for route in Router.table where route.pattern.hasPrefix("/{db}") {
            let method = route.method == Route.anyMethod ? "GET" : route.method
            let name = "\(method) \(route.pattern)"
            guard route.access == .member || name.contains("ddoc") && !name.contains("_index")
            else { continue }
            // What scripts are told has tests beside theirs.
            guard !route.answersAnyType || name.contains("attachment") else { continue }
            #expect(compared.contains(name) || Self.exceptions.contains(name), "\(name)")
        }
    }

    @Test
    func `a document cannot be made under the ID of a hidden one, and a right revision edits it`()
        throws
    {
        let site = try Self.site(hiding: true)
        #expect(site.send("PUT", "/db/hidden", "{}", Self.ann).status == 409)
        let known = site.send("PUT", "/db/hidden?rev=\(Self.revision)", "{}", Self.ann)
        #expect(known.status == 201)
        #expect(site.send("GET", "/db/hidden", "", Self.ann).status == 404)
    }
}
