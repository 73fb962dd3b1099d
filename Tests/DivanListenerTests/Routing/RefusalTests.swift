// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanDatabase
import DivanHTTP
import DivanJSON
import DivanReplication
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

/// Refusals that need options, users, tokens or devices, and so stand in no transcript: each by its words.
@Suite(.timeLimit(.minutes(10))) struct RefusalTests {
    private static let key = Array("a key of thirty-two bytes or more".utf8)
    private static let later = JSONValue.integer(4_102_444_800)
    private static let ann: HTTPHeaders = [
        "Authorization": "Basic " + Base64.encode(Array("ann:secret".utf8))
    ]

    /// A site with the databases `db` and `other`, whose administrator is `ann`, and which takes tokens.
    private static func site(_ edit: (inout ListenerOptions) -> Void = { _ in }) throws -> TestSite
    {
        let tokens = try ListenerTokens(key: key)
        let site = try TestSite { options in
            options.access = .users(["ann": "secret"])
            options.tokens = tokens
            edit(&options)
        }
        for name in ["db", "other"] { _ = try site.manager.database(named: name) }
        return site
    }

    /// The header field with a token.
    private static func token(
        _ claims: JSONObject, _ header: JSONObject = ["alg": "HS256"], key: [UInt8] = key
    ) -> HTTPHeaders {
        func encoded(_ bytes: [UInt8]) -> String {
            Base64.encode(bytes).replacingOccurrences(of: "+", with: "-")
                .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
        }
        let text = [header, claims]
            .map { encoded(Array(JSONWriter.string(.object($0)).utf8)) }
            .joined(separator: ".")
        return [
            "Authorization": "Bearer \(text)."
                + encoded(Secrets.sign(Array(text.utf8), key: key))
        ]
    }

    /// A user who is no administrator.
    private static let joe = token(["sub": "joe", "exp": later])

    /// The status, the error and the reason of an answer.
    private static func words(_ answer: TestAnswer) -> String {
        let (error, reason) = (answer.json["error"]?.string, answer.json["reason"]?.string)
        return "\(answer.status) \(error ?? "-"): \(reason ?? "-")"
    }

    // MARK: - Who asks

    @Test func `a token is told what it lacks`() throws {
        let site = try Self.site()
        let (key, later) = (Self.key, Self.later)
        let good: JSONObject = ["sub": "joe", "exp": later]
        let tokens: [(HTTPHeaders, String)] = [
            (["Authorization": "Bearer a.b"], "The token is malformed."),
            (
                Self.token(good, ["alg": "none"]),
                "The token is not of the kind JWT with HS256, HS384 or HS512."
            ),
            (Self.token(good, ["alg": "HS256", "kid": "two"]), "The token's key is not known."),
            (Self.token(good, key: key + [1]), "The token's signature is wrong."),
            (Self.token(["sub": "joe"]), "The token has no 'exp'."),
            (Self.token(["sub": "joe", "exp": "later"]), "The token's 'exp' is no number."),
            (Self.token(["sub": "joe", "exp": 1]), "The token has expired."),
            (
                Self.token(["sub": "joe", "exp": later, "nbf": later]),
                "The token does not count yet."
            ),
            (Self.token(["exp": later]), "The token has no 'sub'."),
        ]
        for (headers, reason) in tokens {
            let answer = site.send("GET", "/_session", "", headers)
            #expect(Self.words(answer) == "401 unauthorized: " + reason)
        }
    }

    @Test func `a token that the configuration reads is refused in CouchDB's words`() throws {
        let site = try Self.site { $0.tokens = nil }
        for (path, text) in [
            (
                "chttpd/authentication_handlers",
                "{chttpd_auth, jwt_authentication_handler}, {chttpd_auth, default_authentication_handler}"
            ),
            ("jwt_auth/required_claims", "typ"),
        ] { #expect(Self.set(site, path, text) == "200 -: -") }
        let answer = site.send(
            "GET", "/_session", "", Self.token(["sub": "joe"], ["alg": "HS256", "typ": "JWE"]))
        #expect(Self.words(answer) == "400 bad_request: Invalid typ header parameter")
        try site.router.site.configuration.set(
            "jwt_keys", "rsa:k", to: PublicKeys.rsa, isKept: true)
        _ = Self.set(site, "jwt_auth/required_claims", "exp")
        let cut = "Bearer " + PublicKeys.rsaToken.dropLast(6)
        #expect(
            Self.words(site.send("GET", "/_session", "", ["Authorization": cut]))
                == "400 bad_request: Bad signature in authentication token")
    }

    @Test func `a device is told why it is not served`() throws {
        let (key, stranger) = ([UInt8](repeating: 7, count: 32), [UInt8](repeating: 8, count: 32))
        let site = try Self.site { $0.devices = OneDevice(key: key) }
        let answers = [
            (
                site.send("GET", "/other", key: key),
                "403 forbidden: The device is not paired, or does not share this database."
            ),
            (
                site.send("POST", "/_replicate", "{}", key: key),
                "403 forbidden: A paired device replicates from its own side."
            ),
            (
                site.send("POST", "/_divan/pair", "{}"),
                "403 forbidden: A device that pairs shows a certificate of its own."
            ),
            (
                site.send("POST", "/_divan/greet", "{}", key: stranger),
                "403 forbidden: The device is not paired."
            ),
        ]
        for (answer, words) in answers { #expect(Self.words(answer) == words) }
    }

    @Test(arguments: [
        (
            PairingRefusal.malformed,
            "400 pairing_malformed: The request to pair is malformed; update the app on this device."
        ),
        (.unknownLink, "403 pairing_unknown: The link is not known here; make a new one."),
        (.expired, "403 pairing_expired: The link's time is over; make a new one."),
        (.used, "403 pairing_used: The link was used already; make a new one."),
        (
            .tooManyGuesses,
            "429 pairing_locked: Too many wrong links came from this network; try again in some minutes."
        ),
        (
            .declined,
            "403 pairing_declined: The other device declined; make a new link to try again."
        ),
    ])
    func `a device that is not paired is told why`(refusal: PairingRefusal, words: String) throws {
        let key = [UInt8](repeating: 7, count: 32)
        let site = try Self.site { $0.devices = OneDevice(key: key, refusal: refusal) }
        #expect(Self.words(site.send("POST", "/_divan/pair", "{}", key: key)) == words)
    }

    @Test func `a proxy whose token is wrong is told so`() throws {
        let proxy = try ListenerProxyAuthentication(secret: Array("the secret of a proxy".utf8))
        let site = try Self.site { $0.proxy = proxy }
        let answer = site.send(
            "GET", "/_session", "",
            ["X-Auth-CouchDB-UserName": "joe", "X-Auth-CouchDB-Token": "00"])
        #expect(Self.words(answer) == "401 unauthorized: The token of the proxy is wrong.")
    }

    @Test func `who signs in while too many others do is told to come again`() throws {
        let response = try Self.site().router.refuse(
            .tooManySignIns, RequestHead(method: "GET", target: "/"))
        #expect(response.headers["Retry-After"] == "5")
        #expect(
            Self.words(TestAnswer(response))
                == "503 too_many_sign_ins: Too many clients sign in at once; try again in some seconds, or use a session."
        )
    }

    @Test(arguments: [
        ("PUT", "/db/_design/d", "403 forbidden: You are not a db or server admin."),
        (
            "GET", "/_node/_local/_stats",
            "401 unauthorized: You are not a server admin or read-only metrics user"
        ),
        ("GET", "/_all_dbs", "401 unauthorized: You are not a server admin."),
        ("GET", "/other", "403 forbidden: You are not allowed to access this db."),
        ("GET", "/_users/_all_docs", "401 unauthorized: You are not a server admin."),
    ])
    func `a user who is no administrator is told which right is missing`(
        method: String, target: String, words: String
    ) throws {
        let site = try Self.site()
        site.send("PUT", "/_users", "", Self.ann)
        site.send("PUT", "/other/_security", #"{"members":{"names":["ann"]}}"#, Self.ann)
        #expect(Self.words(site.send(method, target, "{}", Self.joe)) == words)
    }

    @Test func `a user changes of the own account what is the user's to change`() throws {
        let site = try Self.site()
        site.send("PUT", "/_users", "", Self.ann)
        site.send("PUT", "/_users/_security", #"{"members":{"names":["joe"]}}"#, Self.ann)
        let path = "/_users/org.couchdb.user:joe"
        func account(_ more: String = "", roles: String = "[]") -> String {
            #"{"name":"joe","type":"user","roles":\#(roles)\#(more)}"#
        }
        func put(_ query: String, _ body: String, _ user: HTTPHeaders = Self.joe) -> String {
            Self.words(site.send("PUT", path + query, body, user))
        }
        #expect(put("", account(roles: #"["r"]"#)) == "403 forbidden: Only _admin may set roles")
        #expect(
            put("", account(#","iterations":1"#))
                == "403 forbidden: Send a `password` to change it, and leave its hash as it is.")
        let long = String(repeating: "l", count: 65_536)
        #expect(
            put("", account(#","text":"\#(long)""#))
                == "413 document_too_large: An account may be 64 kB long; keep other data in another database."
        )
        #expect(
            put("?new_edits=false", account(#","_rev":"1-a""#))
                == "403 forbidden: Only administrators may store revisions here that were made elsewhere."
        )
        let made = site.send("PUT", path, account(), Self.joe)
        #expect(made.status == 201)
        _ = put("?new_edits=false", account(#","_rev":"1-a""#), Self.ann)
        #expect(
            put("?rev=\(made.json["rev"]?.string ?? "")", account())
                == "403 forbidden: The account has conflicting revisions; an administrator must delete all but one first."
        )
    }

    // MARK: - What the app and the configuration say

    @Test func `what the app does not allow is refused`() throws {
        let site = try Self.site { options in
            options.authorization.request = { _, method, _ in method != "DELETE" }
            options.authorization.writing = { _, _, change in change.documentID != "kept" }
            options.authorization.reading = { _, _, _ in true }
        }
        let database = try site.manager.database(named: "db")
        database.view(named: "d/v").setMap(version: "1", reduce: .sum) { _, emit in emit(1, 1) }
        let answers = [
            (
                site.send("DELETE", "/db/a", "", Self.joe),
                "You are not allowed to make this request."
            ),
            (
                site.send("PUT", "/db/kept", "{}", Self.joe),
                "You are not allowed to change this document."
            ),
            (
                site.send("GET", "/db/_local_docs", "", Self.joe),
                "Local documents are listed for administrators only, as the app decides who sees which document."
            ),
            (
                site.send("GET", "/db/_design/d/_view/v", "", Self.joe),
                "Reduced views are not served: they show what is not yours."
            ),
            (
                site.send("POST", "/_replicate", #"{"source":"db","target":"other"}"#, Self.ann),
                "The app decides who may see which document, so replicate from outside."
            ),
        ]
        for (answer, reason) in answers {
            #expect(Self.words(answer) == "403 forbidden: " + reason)
        }
    }

    @Test func `a listener that only reads says so`() throws {
        let answer = try Self.site { $0.readOnly = true }.send("PUT", "/db/a", "{}", Self.ann)
        #expect(Self.words(answer) == "403 forbidden: This listener is read-only.")
    }

    private static func set(_ site: TestSite, _ path: String, _ text: String) -> String {
        words(site.send("PUT", "/_node/_local/_config/" + path, "\"\(text)\"", ann))
    }

    @Test func `a configuration that cannot be changed says why`() throws {
        let fixed = try Self.site { $0.fixesConfiguration = true }
        #expect(
            Self.set(fixed, "a/b", "c")
                == "403 forbidden: The configuration of this listener cannot be changed by clients; change its options."
        )
        let site = try Self.site()
        #expect(
            Self.set(site, "admins/ann", "other")
                == "403 forbidden: The program that runs the listener gives the password of this administrator; change it there."
        )
        _ = Self.set(site, "couchdb/users_db_security_editable", "false")
        #expect(
            Self.words(site.send("PUT", "/_users/_security", "{}", Self.ann))
                == "403 forbidden: You can't edit the security object of the user database.")
        let long = String(repeating: "l", count: 16_000)
        let answers = (0..<17).map { Self.set(site, "long/\($0)", long) }
        #expect(
            answers.last
                == "400 bad_request: The configuration is full; delete keys that nothing needs.")
    }

    @Test func `files beside the databases that are malformed or cannot be read are told of`()
        throws
    {
        let site = try Self.site()
        let files = FileManager.default
        for (name, key, malformed, unreadable) in [
            (
                "listener-config.json", "a/b",
                "The file listener-config.json is malformed; mend or remove it.",
                "The file listener-config.json cannot be read; give its owner the right to."
            ),
            (
                "listener.json", "admins/eve", "The file of users is malformed.",
                "The file of users cannot be read; give it to the user of this process."
            ),
        ] {
            let file = site.folder.appending(path: name)
            try Data("[]".utf8).write(to: file)
            #expect(Self.set(site, key, "c") == "500 internal_server_error: " + malformed)
            try files.removeItem(at: file)
            try files.createDirectory(at: file, withIntermediateDirectories: false)
            #expect(Self.set(site, key, "c") == "500 internal_server_error: " + unreadable)
            try files.removeItem(at: file)
        }
    }

    @Test func `what cannot be written is told of`() throws {
        let site = try Self.site()
        try FileManager.default.removeItem(at: site.folder)
        #expect(
            Self.set(site, "a/b", "c")
                == "500 internal_server_error: The configuration could not be written.")
        #expect(
            Self.set(site, "admins/eve", "c")
                == "500 internal_server_error: The file of users could not be written.")
    }

    @Test func `a replication that is refused says by which server, or that it runs already`()
        throws
    {
        let far = try Self.site()
        let listener = try far.listen { $0.access = .users(["ann": "secret"]) }
        defer { listener.stop() }
        let url = "http://127.0.0.1:\(listener.port ?? 0)/db"
        let site = try Self.site()
        let answer = site.send(
            "POST", "/_replicate", #"{"source":"\#(url)","target":"db"}"#, Self.ann)
        let words = Self.words(answer)
        #expect(
            words.hasPrefix(
                "401 unauthorized: unauthorized to access or create database \(url): "), "\(words)")
        let same = #"{"source":"db","target":"other","continuous":true}"#
        #expect(site.send("POST", "/_replicate", same, Self.ann).status == 202)
        #expect(site.send("PUT", "/_replicator/same", same, Self.ann).status == 201)
        eventually {
            site.send("GET", "/_scheduler/docs/_replicator/same", "", Self.ann)
                .json["info"]?["error"]
                == "The same replication was started already, by a request or another document."
        }
        site.router.site.replications.close(within: .zero)
        let late = site.send(
            "POST", "/_replicate", #"{"source":"db","target":"other"}"#, Self.ann)
        #expect(Self.words(late) == "503 service_unavailable: The listener is stopping.")
    }

    @Test func `the console says what it does not have`() throws {
        let site = try Self.site { $0.console = ListenerConsole { _ in nil } }
        #expect(
            Self.words(site.send("GET", "/_utils/none.js"))
                == "404 not_found: The console has no such file.")
        #expect(
            Self.words(site.send("GET", "/_divan/log?level=loud", "", Self.ann))
                == "400 bad_request: `level` must be one of error, warning, info, verbose and debug."
        )
    }

    // MARK: - What is too long

    @Test func `a body that is longer than JSON may be is too large`() throws {
        let site = try Self.site { $0.limits.jsonBody = 100 }
        let document = #"{"_id":"a","text":"\#(String(repeating: "l", count: 200))"}"#
        #expect(
            Self.words(site.send("PUT", "/db/a", document, Self.ann))
                == "413 too_large: the request entity is too large")
        let answer = site.send("POST", "/db/_bulk_docs", "{\"docs\":[\(document)]}", Self.ann)
        #expect(answer.json[0]?["error"] == "document_too_large")
        #expect(answer.json[0]?["reason"] == "The document is longer than a JSON body may be.")
    }

    @Test func `a body that finds no memory is to come again`() throws {
        let site = try Self.site()
        site.router.site.memory.close()
        let text = String(repeating: "l", count: 4 << 20)
        let answer = site.send("PUT", "/db/a", #"{"text":"\#(text)"}"#, Self.ann)
        #expect(answer.headers["Retry-After"] == "5")
        #expect(
            Self.words(answer)
                == "503 too_busy: Other requests take the memory that this one needs; try again in some seconds."
        )
    }

    @Test func `a selector whose paths are too long together is refused`() throws {
        let name = String(repeating: "n", count: 100_000)
        let conditions = (0..<700).map { "\"c\($0)\":1" }.joined(separator: ",")
        let answer = try Self.site().send(
            "POST", "/db/_find", #"{"selector":{"\#(name)":{\#(conditions)}}}"#, Self.ann)
        #expect(
            Self.words(answer)
                == "400 invalid_selector_json: The paths of the selector's conditions are too long together; ask for fewer or shorter ones."
        )
    }

    @Test func `content that is not here is told of`() async throws {
        let site = try Self.site()
        var reception = Reception(source: "far")
        reception.isDeferring = true
        let text =
            #"{"_id":"a","_rev":"1-a","_attachments":{"x":{"digest":"sha1-witfkXg0JglCjW9RssWvTAveakI=","length":3,"revpos":1,"stub":true}}}"#
        let document = try WireDocument(parsing: Array(text.utf8).span)
        _ = try await LocalPeer(site.manager.database(named: "db"), reception: reception)
            .put([document])
        #expect(
            Self.words(site.send("GET", "/db/a/x", "", Self.ann))
                == "404 not_found: The content of the attachment is not here.")
        #expect(
            Self.words(site.send("GET", "/db/a?attachments=true", "", Self.ann))
                == "412 missing_content: The content of the attachment 'x' is not here.")
    }

    @Test func `a head that is too long, or whose target is no UTF-8, is refused`() throws {
        let served = try ServedSite { $0.limits.head = 4_096 }
        let long = try served.client()
        long.request("GET", "/", ["Y: " + String(repeating: "y", count: 4_090)])
        let tooLong = try #require(long.answer())
        #expect(tooLong.status == 431)
        #expect(
            try JSONParser.parse(tooLong.body)["reason"]
                == "The header of the request is too large.")
        let odd = try served.client()
        odd.write(Array("GET /db/".utf8) + [0xFF])
        odd.write(" HTTP/1.1\r\nHost: localhost\r\n\r\n")
        let refused = try #require(odd.answer())
        #expect(refused.status == 400)
        #expect(
            try JSONParser.parse(refused.body)["reason"]
                == "The request line is not UTF-8; write other bytes as escapes, as %C3%A9.")
    }

    @Test func `a head that can be read in two ways is told what to leave out`() {
        let heads: [([(String, String)], String)] = [
            (
                [("Content-Length", "1"), ("Content-Length", "1")],
                "The request has more than one Content-Length; send one."
            ),
            (
                [("Content-Length", "1"), ("Transfer-Encoding", "chunked")],
                "The request has Content-Length and Transfer-Encoding; send one of them."
            ),
            ([("Content-Length", "+1")], "The Content-Length of the request is no number."),
            (
                [("Transfer-Encoding", "gzip")],
                "The Transfer-Encoding of the request is not 'chunked'."
            ),
            ([("Host", "a"), ("Host", "a")], "The request has more than one Host; send one."),
            (
                [("Content-Length ", "1")],
                "The request has a field whose name is none; leave no space before a colon."
            ),
        ]
        for (fields, reason) in heads {
            var headers = HTTPHeaders()
            for (name, value) in fields { headers.add(name, value) }
            #expect(RequestFraming.failure(of: headers)?.reason == reason)
        }
    }

    @Test func `an error of a database is told in the words of the wire, without its own`() {
        let words: [(DatabaseError.Code, String)] = [
            (.unauthorized, "401 unauthorized: The database needs another key."),
            (.databaseClosed, "503 service_unavailable: The database was closed."),
            (.databaseBusy, "503 service_unavailable: The database is busy."),
            (.databaseSuspended, "503 service_unavailable: The database is suspended."),
            (.readOnly, "403 forbidden: The database is read-only."),
            (.storageFull, "507 insufficient_storage: The disk is full."),
            (.corrupted, "500 internal_server_error: Stored data is damaged."),
            (
                .unsupportedVersion,
                "500 internal_server_error: The database was written by a newer release."
            ),
            (
                .unsupportedStorageEngine,
                "500 internal_server_error: The database is kept by an engine that is not here."
            ),
            (.io, "500 internal_server_error: The system could not read or write."),
            (.cancelled, "503 cancelled: The work was cancelled."),
        ]
        for (code, expected) in words {
            let failure = ErrorResponse.failure(for: DatabaseError(code, "It is in /a/path."))
            #expect("\(failure.status) \(failure.error): \(failure.reason)" == expected)
        }
        struct Unknown: Error {}
        #expect(ErrorResponse.failure(for: Unknown()).reason == "The request failed.")
        #expect(
            ErrorResponse.failure(for: CancellationError()).reason == "The request was cancelled.")
    }
}

/// A device that shares `db`, and a list of devices that no other can join.
private struct OneDevice: ListenerDevices {
    let known: [UInt8]
    let refusal: PairingRefusal
    var key: [UInt8]? { nil }
    var lastPort: UInt16? { nil }

    init(key: [UInt8], refusal: PairingRefusal = .unknownLink) {
        known = key
        self.refusal = refusal
    }

    func device(withKey key: [UInt8]) -> ListenerDevice? {
        key == known ? ListenerDevice(name: "device-1", databases: ["db"]) : nil
    }

    func pair(_ request: JSONObject, key: [UInt8], network: String) throws -> JSONObject {
        throw refusal
    }

    func greet(_ greeting: JSONObject, key: [UInt8]) -> Bool { true }

    func keep(port: UInt16) {}

    func administer(_ action: DeviceAction, at site: DeviceSite) throws(DeviceFailure)
        -> JSONObject
    { throw DeviceFailure(.missing, "It is managed by its test alone.") }
}
