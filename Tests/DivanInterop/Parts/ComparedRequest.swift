// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanJSON

/// A request that is sent to both ends, and its content.
///
/// `{since}` in the path is a place in the middle of the feed.
struct ComparedRequest: Sendable {
    var method: HTTPMethod
    var path: String
    var body: String?
    var headers: HTTPHeaders = [:]
    /// Whether it makes revisions, whose IDs no two servers make alike.
    var isWriting = false

    /// What reports call it.
    var name: String {
        let fields = headers.map { " (\($0.name): \($0.value))" }.joined()
        return "\(method) \(path)\(fields)\(body.map { " \($0)" } ?? "")"
    }

    func send(to database: RemoteDatabase, since: String) async throws -> Answer {
        try await database.send(
            method, path.replacing("{since}", with: PercentEncoding.encode(since)),
            body.map { Array($0.utf8) }, headers)
    }

    static func get(_ path: String, _ headers: HTTPHeaders = [:]) -> ComparedRequest {
        ComparedRequest(method: .get, path: path, headers: headers)
    }

    static func post(_ path: String, _ body: String, _ headers: HTTPHeaders = [:])
        -> ComparedRequest
    {
        ComparedRequest(method: .post, path: path, body: body, headers: headers)
    }

    static func write(_ method: HTTPMethod, _ path: String, _ body: String? = nil)
        -> ComparedRequest
    {
        ComparedRequest(method: method, path: path, body: body, isWriting: true)
    }

    static let all =
        database + feed + comparisons + bulkGet + documents + attachments + local + bulkDocs
        + single

    // MARK: - Content

    private static let text = Array(String(repeating: "text ", count: 300).utf8)

    /// What both ends have.
    static let content: [RevisionText] = {
        var gone = RevisionText("gone", ["2-b", "1-a"])
        gone.isDeleted = true
        var first = RevisionText("attached", ["1-a"], #""n": 1"#)
        first.attachments = [
            .init(name: "old", type: "image/png", content: [1, 2, 3], position: 1)
        ]
        var second = RevisionText("attached", ["2-b", "1-a"], #""n": 2"#)
        second.attachments =
            first.attachments + [
                .init(name: "new", type: "image/png", content: text, position: 2)
            ]
        var loser = RevisionText("conflicted", ["2-d", "1-a"], #""n": 3"#)
        loser.isDeleted = true
        let compressed = RevisionText(
            "compressed", [.init(name: "a", type: "text/plain", content: text)])
        return [
            compressed, RevisionText("plain", ["1-a"], #""kind": "x", "n": 1"#),
            RevisionText("edited", ["3-c", "2-b", "1-a"], #""kind": "y", "n": 2"#), gone, first,
            second,
            RevisionText("conflicted", ["2-b", "1-a"], #""n": 1"#),
            RevisionText("conflicted", ["2-c", "1-a"], #""n": 2"#), loser,
            RevisionText("a/b +%", ["1-a"], #""n": 4"#),
            RevisionText("_design/d", ["1-a"], #""views": {}"#),
            RevisionText("stemmed", ["9-i", "8-h", "7-g"], #""n": 5"#),
            RevisionText(
                "hexadecimal", ["1-\(String(repeating: "0a", count: 16))"], #""kind": "x""#),
        ]
    }()

    // MARK: - Requests

    private static let database = [
        get(""), ComparedRequest(method: .head, path: ""), post("_ensure_full_commit", ""),
        post("_ensure_full_commit", "{}"), get("_ensure_full_commit"), get("_revs_limit"),
        get("_all_docs"),
        get("_all_docs?include_docs=true&conflicts=true"),
        post("_all_docs", #"{"keys": ["plain", "gone", "none"]}"#),
        get("_security"), get("_nothing"), get("_local_docs"),
    ]

    private static let feed = [
        get("_changes"), get("_changes?style=all_docs"), get("_changes?style=main_only"),
        get("_changes?since=0"), get("_changes?since=now"), get("_changes?since={since}"),
        get("_changes?since={since}&limit=2"), get("_changes?limit=1"),
        get("_changes?limit=1&descending=true"),
        get("_changes?descending=true"), get("_changes?include_docs=true"),
        get("_changes?include_docs=true&conflicts=true"),
        get("_changes?include_docs=true&attachments=true"),
        get("_changes?include_docs=true&att_encoding_info=true"),
        get("_changes?include_docs=true&style=all_docs"), get("_changes?feed=longpoll"),
        get("_changes?feed=longpoll&since=now&timeout=100"),
        get("_changes?feed=continuous&timeout=100"),
        get("_changes?feed=continuous&timeout=100&limit=2"),
        get("_changes?feed=continuous&since=now&timeout=100"),
        get("_changes?feed=continuous&timeout=100&include_docs=true"),
        get("_changes?feed=normal&heartbeat=1000"), get("_changes?feed=wrong"),
        get("_changes?limit=x"),
        get("_changes?limit=-1"), get("_changes?style=wrong"), get("_changes?since=wrong"),
        get("_changes?heartbeat=true&limit=1"), get("_changes?seq_interval=4"),
        get(#"_changes?filter=_doc_ids&doc_ids=["plain","gone"]"#.replacing("\"", with: "%22")),
        post("_changes?filter=_doc_ids", #"{"doc_ids": ["plain", "gone", "none", "conflicted"]}"#),
        post("_changes?filter=_doc_ids&style=all_docs", #"{"doc_ids": ["conflicted"]}"#),
        post("_changes?filter=_doc_ids&include_docs=true", #"{"doc_ids": ["plain"]}"#),
        post("_changes?filter=_selector", #"{"selector": {"kind": "x"}}"#),
        post("_changes?filter=_selector&include_docs=true", #"{"selector": {"n": {"$gt": 1}}}"#),
        post("_changes?filter=_selector", #"{"selector": {"n": {"$strange": 1}}}"#),
        post("_changes?filter=_selector", "{}"), post("_changes?filter=_doc_ids", "{}"),
        get("_changes?filter=_design"), get("_changes?filter=d/none"),
        get("_changes?filter=none/none"),
        get("_changes?filter=wrong"), get("_changes?filter=_view&view=d/none"),
        post("_changes", "{}"),
        post("_changes", "[]"), post("_changes", "wrong"),
        post("_changes?style=all_docs&since={since}", "{}"),
        get("_changes?last-event-id={since}"),
        get("_changes?feed=continuous&timeout=100", ["Last-Event-ID": "0"]),
    ]

    private static let comparisons = [
        post("_revs_diff", "{}"), post("_revs_diff", #"{"plain": ["1-a"]}"#),
        post(
            "_revs_diff",
            #"{"plain": ["1-a", "1-b", "2-c"], "none": ["1-a"], "edited": ["2-b", "4-d"]}"#),
        post("_revs_diff", #"{"conflicted": ["3-x", "2-b", "2-zz"], "gone": ["2-b", "3-c"]}"#),
        post("_revs_diff", #"{"stemmed": ["6-f", "9-i", "10-j"], "edited": []}"#),
        post("_revs_diff", #"{"plain": "1-a"}"#), post("_revs_diff", #"{"plain": [1]}"#),
        post("_revs_diff", #"{"plain": ["wrong"]}"#), post("_revs_diff", "[]"),
        post("_revs_diff", "wrong"),
        post("_revs_diff", #"{"_local/x": ["1-a"]}"#),
        post("_revs_diff", #"{"_design/d": ["1-a", "2-b"]}"#),
        get("_revs_diff"), post("_missing_revs", #"{"plain": ["1-a", "2-b"]}"#),
        post("_revs_diff", #"{"hexadecimal": ["1-\#(String(repeating: "0A", count: 16))"]}"#),
    ]

    private static let bulkGet = [
        post("_bulk_get", #"{"docs": [{"id": "plain"}]}"#), post("_bulk_get", #"{"docs": []}"#),
        post(
            "_bulk_get?revs=true",
            #"{"docs": [{"id": "edited", "rev": "3-c"}, {"id": "gone", "rev": "2-b"}]}"#),
        post("_bulk_get?revs=true", #"{"docs": [{"id": "none"}, {"id": "plain", "rev": "7-x"}]}"#),
        post("_bulk_get?revs=true&latest=true", #"{"docs": [{"id": "edited", "rev": "1-a"}]}"#),
        post("_bulk_get?revs=true", #"{"docs": [{"id": "edited", "rev": "1-a"}]}"#),
        post("_bulk_get", #"{"docs": [{"id": "conflicted"}]}"#),
        post("_bulk_get?attachments=true", #"{"docs": [{"id": "attached"}]}"#),
        post(
            "_bulk_get?revs=true&attachments=true",
            #"{"docs": [{"id": "attached", "atts_since": ["1-a"]}]}"#),
        post("_bulk_get?revs=true", #"{"docs": [{"id": "attached"}]}"#),
        post("_bulk_get", #"{"docs": [{"rev": "1-a"}]}"#),
        post("_bulk_get", #"{"docs": [{"id": 1}]}"#),
        post("_bulk_get", #"{"docs": [{"id": "plain", "rev": "wrong"}]}"#), post("_bulk_get", "{}"),
        post("_bulk_get", "[]"),
        post("_bulk_get", #"{"docs": [{"id": "_local/x"}]}"#), get("_bulk_get"),
    ]

    private static let documents = [
        get("plain?revs=true"), get("edited?revs=true&revs_info=true"), get("edited?rev=1-a"),
        get("gone"), get("none"),
        get("gone?rev=2-b"), get("conflicted?conflicts=true&deleted_conflicts=true"),
        get("conflicted?meta=true"),
        get("plain?local_seq=true"), get("stemmed?revs=true"), get("a%2Fb%20%2B%25"),
        get("plain?rev=wrong"),
        get("plain?open_revs=all"), get("conflicted?open_revs=all&revs=true"),
        get("gone?open_revs=all"),
        get("none?open_revs=all"), get("edited?open_revs=%5B%221-a%22,%223-c%22,%227-x%22%5D"),
        get("edited?open_revs=%5B%221-a%22%5D&latest=true"), get("edited?open_revs=%5B%5D"),
        get("edited?open_revs=wrong"),
        get("conflicted?open_revs=all&revs=true", ["Accept": "multipart/mixed"]),
        get("gone?open_revs=all", ["Accept": "multipart/mixed"]),
        get("none?open_revs=all", ["Accept": "multipart/mixed"]),
        get("attached?open_revs=all&attachments=true", ["Accept": "multipart/mixed"]),
        get("plain?open_revs=%5B%229-x%22%5D", ["Accept": "multipart/mixed"]),
        get("plain?latest=true&rev=1-a"),
    ]

    private static let attachments = [
        get("attached"), get("attached?attachments=true"), get("attached?att_encoding_info=true"),
        get("attached?attachments=true&att_encoding_info=true"),
        get(
            "attached?rev=2-b&revs=true&atts_since=%5B%221-a%22%5D&attachments=true",
            ["Accept": "multipart/related"]),
        get("attached?rev=2-b&atts_since=%5B%221-a%22%5D"),
        get("attached?rev=2-b&atts_since=%5B%5D"),
        get("attached?rev=2-b&attachments=true&atts_since=%5B%229-x%22%5D"),
        get("attached?atts_since=wrong"),
        get("attached?attachments=true", ["Accept": "multipart/related"]), get("attached?rev=1-a"),
        get("compressed?att_encoding_info=true"),
        get("compressed?attachments=true", ["Accept": "multipart/related"]),
        get("attached/old", ["Accept": "*/*"]), get("attached/none", ["Accept": "*/*"]),
        get("attached/new?rev=2-b", ["Accept": "*/*"]),
        get("attached/new?rev=1-a", ["Accept": "*/*"]),
    ]

    private static let local = [
        get("_local/none"), write(.put, "_local/c", #"{"n": 1}"#), get("_local/c"),
        write(.put, "_local/c", #"{"_rev": "0-1", "n": 2}"#), get("_local/c?revs=true"),
        get("_local/c?attachments=true"),
        write(.delete, "_local/c?rev=0-2"), write(.delete, "_local/c"),
        write(.put, "_local/d", "[]"),
        write(.put, "_local/d", #"{"_id": "_local/e"}"#), get("_local%2Fc"),
        write(.post, "_bulk_docs", #"{"docs": [{"_id": "_local/f", "n": 1}]}"#), get("_local/f"),
    ]

    private static let bulkDocs = [
        write(.post, "_bulk_docs", #"{"docs": []}"#), write(.post, "_bulk_docs", "{}"),
        write(.post, "_bulk_docs", "[]"),
        write(
            .post, "_bulk_docs", #"{"docs": [{"_id": "new1", "n": 1}, {"_id": "plain", "n": 2}]}"#),
        write(.post, "_bulk_docs", #"{"docs": [{"_id": "_bad"}]}"#),
        write(.post, "_bulk_docs", #"{"docs": [{"_bad": 1}]}"#),
        write(.post, "_bulk_docs", #"{"docs": [1]}"#), write(.post, "_bulk_docs", #"{"docs": {}}"#),
        write(
            .post, "_bulk_docs",
            #"{"docs": [{"_id": "plain", "_rev": "1-a", "n": 2}, {"_id": "plain", "_rev": "1-a", "n": 3}]}"#
        ),
        write(
            .post, "_bulk_docs", #"{"docs": [{"_id": "r1", "_rev": "wrong"}], "new_edits": false}"#),
        write(.post, "_bulk_docs", #"{"docs": [{"_id": "r2"}], "new_edits": false}"#),
        write(
            .post, "_bulk_docs",
            #"{"docs": [{"_id": "r3", "_rev": "1-a", "_revisions": {"start": 1, "ids": ["a"]}}, {"_id": "", "_rev": "1-a"}], "new_edits": false}"#
        ),
        write(
            .post, "_bulk_docs",
            #"{"docs": [{"_id": "r4", "_rev": "2-b", "_revisions": {"start": 2, "ids": ["x", "a"]}}], "new_edits": false}"#
        ),
        write(
            .post, "_bulk_docs",
            #"{"docs": [{"_id": "r5", "_rev": "1-a", "_attachments": {"a": {"stub": true}}}], "new_edits": false}"#
        ),
        write(
            .post, "_bulk_docs",
            #"{"docs": [{"_id": "r6", "_rev": "1-a", "_attachments": {"a": {"data": "***"}}}], "new_edits": false}"#
        ),
        write(.post, "_bulk_docs", #"{"docs": [{"_id": "r7", "_rev": "1-a"}], "new_edits": "no"}"#),
        write(
            .post, "_bulk_docs",
            #"{"docs": [{"_id": "r8", "_rev": "1-a", "v": 1e400}], "new_edits": false}"#),
    ]

    private static let single = [
        write(.put, "s1", #"{"n": 1}"#), write(.put, "s1", #"{"n": 2}"#),
        write(.put, "s2?new_edits=false", #"{"_rev": "1-a"}"#),
        write(
            .put, "s3?new_edits=false",
            #"{"_rev": "2-b", "_revisions": {"start": 2, "ids": ["b", "a"]}}"#),
        write(
            .put, "s3?new_edits=false",
            #"{"_rev": "2-b", "_revisions": {"start": 2, "ids": ["b", "a"]}}"#),
        write(.put, "s4?new_edits=false", "{}"), write(.put, "s5", "[]"),
        write(.put, "s6", "wrong"),
        write(.put, "s7", #"{"_id": "other"}"#), write(.put, "_bad", "{}"),
        write(.put, "s8?rev=1-a", "{}"),
        write(.delete, "none"), write(.delete, "gone"), write(.put, "s9", #"{"_rev": "1-a"}"#),
    ]
}
