// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import Testing

@testable import DivanListener

/// What passwords must be like, by `password_regexp`.
@Suite struct PasswordRequirementTests {
    private static let root: HTTPHeaders = [
        "Authorization": "Basic " + Base64.encode(Array("root:secret".utf8))
    ]

    private let site: TestSite

    init() throws { site = try TestSite { $0.access = .users(["root": "secret"]) } }

    @discardableResult
    private func set(_ text: String, _ section: String = "chttpd_auth") -> TestAnswer {
        site.send(
            "PUT", "/_node/_local/_config/\(section)/password_regexp",
            JSONValue.string(text).description, Self.root)
    }

    private func add(_ password: String, _ name: String = "ann") -> TestAnswer {
        site.send(
            "PUT", "/_users/org.couchdb.user:\(name)",
            JSONValue.object([
                "name": .string(name), "type": "user", "roles": [], "password": .string(password),
            ]).description, Self.root)
    }

    @Test(arguments: [
        ("funnybone", "Password does not conform to requirements."),
        ("funnnnnybone", "Password does not conform to requirements. Requirement 2."),
        ("FUNNNNNYBONE", "Password does not conform to requirements."),
        ("funnnnnyBONE", "Password does not conform to requirements. Req 4."),
        ("funnnnnyB0N3", "Password does not conform to requirements."),
    ])
    func `a password must have what each expression asks for, and is told why it has not`(
        password: String, reason: String
    ) {
        set(
            #"[{".{10,}"}, {"[A-Z]+", "Requirement 2."}, {"[a-z]+", ""}, {"\\d+", "Req 4."}, "[!.,()]+"]"#,
            "couch_httpd_auth")
        let answer = add(password)
        #expect(answer.status == 400 && answer.json["error"] == "bad_request")
        #expect(answer.json["reason"]?.string == reason)
        let bulk = site.send(
            "POST", "/_users/_bulk_docs",
            #"{"docs":[{"_id":"org.couchdb.user:b","name":"b","type":"user","roles":[],"password":"\#(password)"}]}"#,
            Self.root)
        #expect(bulk.status == 201 && bulk.json[0]?["reason"]?.string == reason)
        #expect(add("funnnnnyB0N3!").status == 201)
    }

    @Test(arguments: ["", "[]", " [ ] ."])
    func `without any expression every password is taken`(text: String) {
        #expect(set(text).status == 200)
        #expect(add("x").status == 201)
    }

    @Test(arguments: [
        #"{{".{10,}"}}"#, #"[{".{10,}"]"#, "[12]", "[{why}]", "x", #"["a" "b"]"#, #"["a"#,
    ])
    func `while the setting is no list of expressions no password is taken`(text: String) {
        #expect(set(text).status == 200)
        let answer = add("querty")
        #expect(answer.status == 403 && answer.json["error"] == "forbidden")
        #expect(answer.json["reason"] == "Server cannot hash passwords at this time.")
        // An account without a password is.
        let body = #"{"name":"bob","type":"user","roles":[]}"#
        #expect(site.send("PUT", "/_users/org.couchdb.user:bob", body, Self.root).status == 201)
    }

    @Test(arguments: [#"["("]"#, #"[{"[a", "why"}]"#])
    func `an expression that is none is refused when it is set`(text: String) {
        let answer = set(text)
        #expect(answer.status == 400)
        #expect(answer.json["reason"]?.string?.contains("regular expressions") == true)
        #expect(add("x").status == 201)
    }

    @Test func `an expression that would take for long refuses the password`() {
        set(#"["^(a|a?)+$"]"#)
        let began = ContinuousClock.now
        #expect(add(String(repeating: "a", count: 60) + "!").status == 400)
        #expect(add(String(repeating: "a", count: 2_000)).status == 400)
        #expect(ContinuousClock.now - began < .seconds(60))
    }

    @Test func `passwords that were set before go on to count`() {
        #expect(add("pw").status == 201)
        set(#"[".{10,}"]"#)
        let ann: HTTPHeaders = ["Authorization": "Basic " + Base64.encode(Array("ann:pw".utf8))]
        #expect(site.send("GET", "/_session", "", ann).status == 200)
    }

    @Test(arguments: [
        (#""a\"b\\d\n""#, ErlangTerm.text("a\"b\\d\n")), ("[]", .list([])), ("{}", .tuple([])),
        ("[a, 1.]", nil),
        (#"[ "a" , {b,"c"} ] . "#, .list([.text("a"), .tuple([.other, .text("c")])])),
        ("", nil), (#"["a",]"#, nil), (#""a" "b""#, nil), ("[[[[[[[[[[]]]]]]]]]]", nil),
        (#""\"#, nil),
    ])
    func `a term is read in Erlang's notation`(text: String, term: ErlangTerm?) {
        #expect(ErlangTerm(text) == term)
    }
}
