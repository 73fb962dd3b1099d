// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanReplication
import Testing

struct WireDocumentTests {
    @Test func `a document comes apart into its ID, its history and its body`() throws {
        let document = try wire(
            #"""
            {"_id":"c/slash é","_rev":"2-b","n":3,"_revisions":{"start":2,"ids":["b","a"]},"z":[1.0]}
            """#)
        #expect(document.id?.text == "c/slash é")
        #expect(document.history?.ids.map(\.description) == ["2-b", "1-a"])
        #expect(document.revision?.description == "2-b")
        #expect(document.body.jsonText == #"{"n":3,"z":[1.0]}"#)
        #expect(!document.isDeleted)
        #expect(!document.hasAttachments)
    }

    @Test func `a revision alone is a history of one`() throws {
        let document = try wire(#"{"_id":"a","_rev":"7-x","_deleted":true}"#)
        #expect(document.history?.ids.map(\.description) == ["7-x"])
        #expect(document.isDeleted)
        #expect(document.body.jsonText == "{}")
    }

    @Test func `a document without ID or revision can be read, and says what lacks when asked`()
        throws
    {
        let document = try wire(#"{"n":1}"#)
        #expect(document.id == nil)
        #expect(throws: WireDocumentError.self) { try document.requiredID() }
        #expect(throws: WireDocumentError.self) { try document.requiredHistory() }
    }

    @Test func `of a long history only as much is kept as asked for`() throws {
        let digests = (0..<5_000).map { "\"d\($0)\"" }.joined(separator: ",")
        let document = try wire(
            #"{"_id":"a","_revisions":{"start":5000,"ids":["# + digests + "]}}", historyLimit: 20)
        #expect(document.history?.ids.count == 20)
        #expect(document.history?.oldest.description == "4981-d19")
    }

    @Test func `answers about a document are no part of its body`() throws {
        let document = try wire(
            #"""
            {"_id":"a","_rev":"1-a","_local_seq":7,"_conflicts":["1-b"],"_deleted_conflicts":["1-c"],
            "_revs_info":[{"rev":"1-a","status":"available"}]}
            """#)
        #expect(document.body.jsonText == "{}")
    }

    @Test func `the mark of a removed revision stays in its body`() throws {
        let document = try wire(#"{"_id":"a","_rev":"2-a","_removed":true}"#)
        // Any writer can have written that.
        #expect(document.saysRemoved && !document.isRemoved)
        #expect(try !wire(#"{"_id":"a","_rev":"2-a","_removed":true,"n":1}"#).saysRemoved)
        #expect(document.body.jsonText == #"{"_removed":true}"#)
    }

    @Test(arguments: [
        (#"[1]"#, WireDocumentError.Reason.notAnObject),
        (#"{"_id":"#, .malformedJSON),
        (#"{"_id":7}"#, .invalidID),
        (#"{"_id":""}"#, .invalidID),
        (#"{"_id":"_secret"}"#, .invalidID),
        (#"{"_id":"a","_rev":1}"#, .invalidRevision),
        (#"{"_id":"a","_rev":"x"}"#, .invalidRevision),
        (#"{"_id":"a","_revisions":{"start":"1","ids":["a"]}}"#, .invalidRevision),
        (#"{"_id":"a","_revisions":{"start":1,"ids":"a"}}"#, .invalidRevision),
        (#"{"_id":"a","_revisions":{"start":1,"ids":["a","b"]}}"#, .invalidRevision),
        (#"{"_id":"a","_revisions":{"start":1,"ids":[]}}"#, .invalidRevision),
        (#"{"_id":"a","_revisions":{"start":1,"ids":[1]}}"#, .invalidRevision),
        (#"{"_id":"a","_rev":"1-b","_revisions":{"start":1,"ids":["a"]}}"#, .invalidRevision),
        (#"{"_id":"a","_deleted":1}"#, .reservedProperty),
        (#"{"_id":"a","_sync":{}}"#, .reservedProperty),
        (#"{"_id":"a","_attachments":[]}"#, .invalidAttachments),
        (#"{"_id":"a","_attachments":{"x":1}}"#, .invalidAttachments),
        (#"{"_id":"a","_attachments":{"x":{"data":"?"}}}"#, .invalidAttachments),
    ])
    func `what is no document is refused by its reason`(
        text: String, reason: WireDocumentError.Reason
    ) {
        let error = #expect(throws: WireDocumentError.self) { try wire(text) }
        #expect(error?.reason == reason)
    }

    @Test func `content in place is taken out, and content that follows is named`() throws {
        let document = try wire(
            #"""
            {"_id":"a","_rev":"1-a","_attachments":{
            "in":{"content_type":"text/plain","data":"aGVsbG8=","revpos":1},
            "stub":{"stub":true,"digest":"md5-x","length":5,"revpos":1},
            "follows":{"follows":true,"length":9,"revpos":1}}}
            """#)
        #expect(document.inlineContents.map(\.key) == ["in"])
        #expect(document.followingNames == ["follows"])
        #expect(!document.body.jsonText.contains("aGVsbG8="))
        #expect(document.body["_attachments"]?["stub"]?["digest"]?.string == "md5-x")
    }

    @Test func `of content in place that CouchDB codes on its own account the MD5 proves nothing`()
        throws
    {
        let document = try wire(
            #"""
            {"_id":"a","_rev":"1-a","_attachments":{
            "md5":{"data":"aGVsbG8=","digest":"md5-of-the-coded-bytes"},
            "sha1":{"data":"aGVsbG8=","digest":"sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00="},
            "plain":{"data":"aGVsbG8=","encoding":"gzip","encoded_length":99,"digest":"md5-x"},
            "coded":{"data":"H4s=","encoding":"gzip","encoded_length":2,"digest":"md5-x"}}}
            """#)
        let stubs = document.body["_attachments"]
        #expect(stubs?["md5"]?["digest"] == nil)
        #expect(stubs?["sha1"]?["digest"] != nil)
        #expect(stubs?["plain"]?["encoding"] == nil)
        #expect(stubs?["plain"]?["digest"] == nil)
        #expect(stubs?["coded"]?["encoding"]?.string == "gzip")
        #expect(stubs?["coded"]?["digest"]?.string == "md5-x")
    }

    @Test func `a document inside an array is read as if it stood alone`() throws {
        let batch = try PackedValue(
            parsing: #"{"docs":[{"_id":"a","_rev":"1-a","n":1},{"_id":"b","_rev":"1-b"}]}"#)
        let first = try WireDocument(#require(batch["docs"]?[0]))
        let second = try WireDocument(#require(batch["docs"]?[1]))
        #expect(first.body.jsonText == #"{"n":1}"#)
        #expect(second.id?.text == "b")
        #expect(second.body.jsonText == "{}")
    }
}
