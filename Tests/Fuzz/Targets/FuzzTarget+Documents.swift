// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanDiscovery
import DivanHTTP
import DivanListener
import DivanPeers
import DivanReplication
import FoundationEssentials

extension FuzzTarget {
    static let documents: [FuzzTarget] = [
        FuzzTarget(
            "wire",
            seeds: [
                #"{"_id":"a","_rev":"2-b","_revisions":{"start":2,"ids":["b","a"]},"n":1}"#,
                #"{"_id":"a","_rev":"1-a","_attachments":{"x":{"data":"aGVsbG8=","content_type":"t","revpos":1}}}"#,
                #"{"_id":"a","_rev":"1-a","_deleted":true,"_attachments":{"x":{"follows":true,"length":5,"digest":"md5-XUFAKrxLKna5cZ2REBfFkg=="}}}"#,
                #"{"_id":"a","_rev":"1-a","_attachments":{"x":{"stub":true,"digest":"sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00=","revpos":-1,"encoding":"gzip","encoded_length":1e300}}}"#,
            ]
        ) { bytes in
            guard let document = try? WireDocument(parsing: bytes.span) else { return }
            _ = try? document.requiredID()
            _ = try? document.requiredHistory()
            _ = document.isRemoved
        },
        FuzzTarget(
            "search", seeds: ["a b -c", "\"two words\" OR x*", "NEAR/5 (a) AND NOT b", "((("]
        ) { bytes in
            _ = try? FullTextExpression(parsing: String(decoding: bytes, as: UTF8.self))
        },
        FuzzTarget(
            "selector",
            seeds: [
                #"{"a":{"$gt":1,"$in":[1,"x"]},"$or":[{"b.c":null},{"$not":{"d":{"$exists":true}}}]}"#,
                #"{"a":{"$elemMatch":{"$eq":1}},"b":{"$regex":"^a.*"},"c":{"$mod":[2,0]},"d":{"$all":[1]}}"#,
            ]
        ) { bytes in
            guard let value = try? JSONParser.parse(bytes) else { return }
            _ = try? FuzzedDatabase.shared.find(selector: value).run()
        },
    ]

    /// A request to a listener: the first line is method and target, the second one the type of the body, the rest the body.
    static let request = FuzzTarget(
        "request",
        seeds: [
            "GET /db/_all_docs?limit=2&startkey=\"a\"&include_docs=true\n\n",
            "GET /db/_changes?since=1&style=all_docs&limit=1\n\n",
            "PUT /db/c\napplication/json\n{\"n\":1}",
            "POST /db/_find\napplication/json\n{\"selector\":{\"n\":{\"$gt\":0}},\"fields\":[\"n\"],\"sort\":[{\"n\":\"desc\"}],\"bookmark\":\"x\"}",
            "POST /db/_bulk_docs\napplication/json\n{\"docs\":[{\"_id\":\"a\"},{\"_id\":\"b\",\"_rev\":\"1-a\"}],\"new_edits\":false}",
            "POST /db/_bulk_get?revs=true\napplication/json\n{\"docs\":[{\"id\":\"a\",\"rev\":\"1-a\"}]}",
            "POST /db/_revs_diff\napplication/json\n{\"a\":[\"1-a\"]}",
            "PUT /db/d\nmultipart/related; boundary=b\n--b\r\n\r\n{\"_attachments\":{\"x\":{\"follows\":true,\"length\":1}}}\r\n--b\r\n\r\nx\r\n--b--",
            "GET /db/a/x.txt\n\n",
            "POST /_session\napplication/json\n{\"name\":\"a\",\"password\":\"b\"}",
            "GET /db/a?open_revs=[\"1-a\"]&atts_since=[]\n\n",
            "POST /db/_purge\napplication/json\n{\"a\":[\"1-a\"]}",
            "PUT /db/_security\napplication/json\n{\"members\":{\"names\":[\"a\"]}}",
            "COPY /db/a\n\n",
            "POST /db/_design/d/_view/v\napplication/json\n{\"keys\":[1],\"group\":true}",
        ]
    ) { bytes in
        let lines = bytes.split(separator: 0x0A, maxSplits: 2, omittingEmptySubsequences: false)
        let first = lines[0].split(separator: 0x20, maxSplits: 1)
        guard first.count == 2 else { return }
        var head = RequestHead(
            method: String(decoding: first[0], as: UTF8.self),
            target: String(decoding: first[1], as: UTF8.self), headers: ["Host": "localhost"])
        // A replication would talk to the network, and a feed would wait.
        guard !head.target.contains("_replicat"), head.method.utf8.count < 16 else { return }
        if lines.count > 1 {
            head.headers["Content-Type"] = String(decoding: lines[1], as: UTF8.self)
        }
        let request = ListenerRequest(head, body: .bytes(lines.count > 2 ? Array(lines[2]) : []))
        let response = FuzzedDatabase.router.respond(request)
        require(response.status != 500, "A request is answered with 500.")
        if case .stream(let producer, _) = response.body {
            for _ in 0..<64 {
                guard case .bytes? = try? producer.next() else { break }
            }
            producer.cancel()
        }
    }

    /// What stands behind the method of a request.
    static let target = FuzzTarget(
        "target",
        seeds: [
            "/db/a%2Fb/c%20d?x=1&y=%22z%22&&=&a", "/db/_design/a%2fb/_view/v?startkey=[1,{}]&group",
            "//db//%00/%zz/../?%", "/%F0%9F%98%80?q=+%2B+", "http://host:5984/db?a=b#c",
        ]
    ) { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        guard let target = try? RequestTarget(text) else { return }
        require((try? RequestTarget(text)) == target, "A target is read in two ways.")
        for name in ["startkey", "endkey", "keys", "since", "limit", "a", ""] {
            _ = target.query[name]
        }
    }

    /// A packet of multicast DNS.
    static let discovery = FuzzTarget(
        "dns",
        seeds: [
            DNSMessage.query([DNSQuestion(ServiceType.divan.name, .ptr)]).bytes,
            DNSMessage.response([
                DNSRecord(
                    ServiceType.divan.name, .txt([[97, 61, 98]]), lifetime: 120, isUnique: true)
            ]).bytes,
        ]
    ) { bytes in
        guard let message = try? DNSMessage(bytes) else { return }
        require((try? DNSMessage(message.bytes)) == message, "A message changes.")
        var browser = Browser(ServiceType.divan.name, seed: 1)
        browser.start(at: .zero)
        browser.receive(message, at: .seconds(1))
        browser.tick(at: .seconds(2))
        browser.checkInvariants()
    }
}

extension FuzzTarget {
    /// A peer link.
    static let link = FuzzTarget(
        "link",
        seeds: [
            "divan://192.168.1.7:49213/notes#1&c=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA&s=AAAAAAAAAAAAAAAAAAAAAA&x=1795711385",
            "divan://[fd00::7]:1/a%2Fb?q#1&a=10.0.0.2,::ffff:1.2.3.4,a-b.local&u=%C3%A9&c=__________________________________________8&s=_____________________w&x=9999999999",
            " DIVAN://[1:2:3:4:5:6:7:8]:65535/n#2&\n",
        ]
    ) { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        guard let link = try? PeerLink(text) else { return }
        require((try? PeerLink(link.text)) == link, "A link changes.")
        require(link.text.utf8.count <= PeerLink.mostBytes, "A link is too long.")
        require((try? link.qrCode()) != nil, "A link has no QR code.")
    }
}

/// A database with a few documents, and a listener of it without sockets. They live as long as the program.
private enum FuzzedDatabase {
    static let manager: Manager = {
        do {
            let folder = FileManager.default.temporaryDirectory.appending(
                path: "divan-fuzz-\(UUID().uuidString)")
            return try Manager(directory: folder)
        } catch { fatalError("\(error)") }
    }()

    static let shared: Database = {
        do {
            let database = try manager.database(named: "db")
            try database.save(
                MutableDocument(["n": 1, "a": ["x", 2], "b": ["c": "text"]], id: "a"))
            let attached = MutableDocument(["n": 2], id: "b")
            attached.setAttachment(
                named: "x.txt", contentType: "text/plain", .bytes(Array("hello".utf8)))
            try database.save(attached)
            database.view(named: "d/v").setMap(version: "1") { document, emit in emit(document["n"])
            }
            return database
        } catch { fatalError("\(error)") }
    }()

    static let router: Router = {
        do {
            _ = shared
            var options = ListenerOptions()
            options.access = .everybodyOnLoopback
            return try Router(manager, options)
        } catch { fatalError("\(error)") }
    }()
}
