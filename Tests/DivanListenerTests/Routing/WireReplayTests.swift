// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

/// Recorded conversations, as the listener answers them.
@Suite struct WireReplayTests {
    /// Where the listener answers otherwise, by the reason for it.
    private static let explained: [String: [String: Set<String>]] = [
        "cbl14-to-cbl14": [
            "contents are known by their MD5": [
                "GET doc: ._attachments.big.bin.digest differs",
                "GET doc: ._attachments.small.txt.digest differs",
            ],
            "errors have CouchDB's form": [
                "GET _local: .reason is added", "GET _local: .status is missing",
            ],
            "contents come as parts where they are accepted": [
                "GET doc: ._attachments.big.bin.data is missing",
                "GET doc: ._attachments.big.bin.follows is added",
                "GET doc: ._attachments.small.txt.data is missing",
                "GET doc: ._attachments.small.txt.follows is added",
                "GET doc: contents [], here [\"big.bin\", \"small.txt\"]",
            ],
            "lists are CouchDB's": [
                "POST _all_docs: .offset is a number, here a null",
                "POST _all_docs: .rows[].value._conflicts is missing",
                "POST _all_docs: .total_rows differs", "POST _changes: .pending is added",
            ],
            "active_only leaves tombstones out": [
                "POST _changes: .results has fewer elements here"
            ],
            "_doc_ids is known": [
                "POST _changes: status 404, here 200", "POST _changes: .error is missing",
                "POST _changes: .status is missing", "POST _changes: .results is added",
                "POST _changes: .last_seq is added",
            ],
            "a revision that was sent is named": [
                "PUT doc: .id is added", "PUT doc: .rev is added",
            ],
        ],
        "cbl14-to-couchdb": [
            texts: [
                "GET doc: ._attachments.small.txt.digest differs",
                "GET doc: ._attachments.small.txt.encoded_length is missing",
                "GET doc: ._attachments.small.txt.encoding is missing",
                "GET doc: contents [\"big.bin\", \"small.txt\"], here [\"big.bin\", \"small.txt\"]",
            ],
            "active_only leaves tombstones out": [
                "POST _changes: .results has fewer elements here"
            ],
            "pending does not count what a filter passes over": ["POST _changes: .pending differs"],
        ],
        "cbl14-to-syncgateway-like": [
            texts: [
                "POST _bulk_get: ._attachments.small.txt.digest differs",
                "POST _bulk_get: ._attachments.small.txt.encoded_length is missing",
                "POST _bulk_get: ._attachments.small.txt.encoding is missing",
                "POST _bulk_get: contents [\"big.bin\", \"small.txt\"], here [\"big.bin\", \"small.txt\"]",
            ],
            "active_only leaves tombstones out": [
                "POST _changes: .results has fewer elements here"
            ],
        ],
        "couchdb-to-couchdb": [
            descriptions: [
                "GET db: .cluster.q differs", "GET db: .committed_update_seq is added",
                "GET db: .db_uuid is added", "GET db: .disk_size is added",
            ]
        ],
        "pouchdb-to-couchdb": [
            texts: ["POST _bulk_get: .results[].docs[].ok._attachments.x.txt.digest differs"],
            descriptions: [
                "GET db: .cluster.q differs", "GET db: .committed_update_seq is added",
                "GET db: .db_uuid is added", "GET db: .disk_size is added",
                "GET /: .CouchbaseLite is added", "GET /: .git_sha is missing",
                "GET /: .features has fewer elements here",
                "GET /: .features has more elements here",
                "GET /: .vendor.name differs", "GET /: .vendor.version is added",
            ],
        ],
    ]

    private static let texts = "texts are not compressed"
    private static let descriptions =
        "it is another server, and tells what Couchbase Lite told as well"

    @Test(arguments: [
        "cbl14-to-cbl14", "cbl14-to-couchdb", "cbl14-to-syncgateway-like", "couchdb-to-couchdb",
        "pouchdb-to-couchdb",
    ])
    func `requests that were recorded are answered as then, but for what is explained`(
        name: String
    ) throws {
        var replay = try WireReplay(WireScript(named: name))
        try replay.run()
        let explained = try #require(Self.explained[name]).values.reduce(into: Set<String>()) {
            $0.formUnion($1)
        }
        let more = replay.differences.subtracting(explained).sorted()
        #expect(more.isEmpty, "It differs: \(more)")
        let fewer = explained.subtracting(replay.differences).sorted()
        #expect(fewer.isEmpty, "It does not differ any more: \(fewer)")
    }
}
