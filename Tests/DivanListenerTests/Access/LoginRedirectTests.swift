// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

/// `_session?next=` and `?fail=`: where a browser is led when its user has signed in or out, or could not.
@Suite struct LoginRedirectTests {
    private static let form = "Content-Type: application/x-www-form-urlencoded"

    private static func login(_ password: String = "secret") -> [UInt8] {
        Array("name=ann&password=\(password)".utf8)
    }

    @Test(arguments: [
        (1, 302), (2_048, 302), (2_049, 400), (4_000, 400),
    ])
    func `a sign-in leads to the path that it names, unless that is too long`(
        length: Int, status: Int
    ) throws {
        let served = try ServedSite { $0.access = .users(["ann": "secret"]) }
        let next = "/" + String(repeating: "x", count: length - 1)
        let client = try served.client()
        client.request("POST", "/_session?next=\(next)", [Self.form], Self.login())
        let answer = try #require(client.answer())
        #expect(answer.status == status)
        let leads = answer.header.contains("Location: \(next)\r\n")
        let isSignedIn = answer.header.contains("Set-Cookie: AuthSession=")
        #expect(leads == (status == 302) && isSignedIn == (status == 302))
    }

    @Test func `a path that is too long to go to is refused before the password is looked at`()
        throws
    {
        let site = try TestSite { $0.access = .users(["ann": "secret"]) }
        let next = "/" + String(repeating: "%C3%A9", count: 1_024)
        for _ in 0..<10 {
            let answer = site.send(
                "POST", "/_session?next=\(next)", Self.login("wrong"),
                ["Content-Type": "application/x-www-form-urlencoded"])
            #expect(answer.status == 400 && answer.json["error"] == "bad_request")
        }
        // None of them counted as a wrong password.
        let answer = site.send(
            "POST", "/_session", Self.login(),
            ["Content-Type": "application/x-www-form-urlencoded"])
        #expect(answer.status == 200)
    }

    @Test func `an answer that has no room for the path to go to is no redirect`() throws {
        let served = try ServedSite {
            $0.access = .users(["ann": "secret"])
            $0.limits.head = 4_096
        }
        let next = "/" + String(repeating: "x", count: 2_000)
        let client = try served.client()
        client.request(
            "POST", "/_session?next=\(next)",
            [Self.form, "Y: " + String(repeating: "y", count: 1_800)], Self.login())
        let answer = try #require(client.answer())
        #expect(answer.status == 200 && !answer.header.contains("Location:"), "\(answer.header)")
        #expect(answer.header.contains("Set-Cookie: AuthSession="))
    }

    @Test func `a wrong password is told of where there is no room for the path to go to`() throws {
        let served = try ServedSite {
            $0.access = .users(["ann": "secret"])
            $0.limits.head = 4_096
        }
        let client = try served.client()
        client.request(
            "POST", "/_session?fail=/" + String(repeating: "x", count: 2_000),
            [Self.form, "Y: " + String(repeating: "y", count: 1_800)], Self.login("wrong"))
        let answer = try #require(client.answer())
        #expect(answer.status == 401 && !answer.header.contains("Location:"), "\(answer.header)")
    }

    private static let headers: HTTPHeaders = [
        "Content-Type": "application/x-www-form-urlencoded"
    ]

    @Test func `a wrong password leads to the path for it, and ends the session`() throws {
        let site = try TestSite { $0.access = .users(["ann": "secret"]) }
        let target = "/_session?next=/in&fail=/out"
        let wrong = site.send("POST", target, Self.login("wrong"), Self.headers)
        #expect(wrong.status == 302 && wrong.headers["Location"] == "/out")
        #expect(wrong.json["error"] == "unauthorized")
        #expect(wrong.json["reason"] == "Name or password is incorrect.")
        #expect(wrong.headers["Set-Cookie"]?.hasPrefix("AuthSession=;") == true)
        #expect(wrong.headers["WWW-Authenticate"] == nil)
        let right = site.send("POST", target, Self.login(), Self.headers)
        #expect(right.status == 302 && right.headers["Location"] == "/in")
        // It counts as wrong all the same.
        for _ in 0..<5 { site.send("POST", target, Self.login("wrong"), Self.headers) }
        #expect(site.send("POST", target, Self.login("wrong"), Self.headers).status == 403)
    }

    @Test func `a user who signs out is led to the next path`() throws {
        let site = try TestSite { $0.access = .users(["ann": "secret"]) }
        let answer = site.send("DELETE", "/_session?next=/in")
        #expect(answer.status == 302 && answer.headers["Location"] == "/in")
        #expect(answer.headers["Set-Cookie"]?.hasPrefix("AuthSession=;") == true)
        #expect(site.send("DELETE", "/_session?next=https://else.example").status == 200)
    }

    @Test(arguments: [
        "https://else.example", "//else.example", "/%5Celse.example", "/%09/else.example", "in", "",
    ])
    func `a path that leads elsewhere is not gone to`(path: String) throws {
        let site = try TestSite { $0.access = .users(["ann": "secret"]) }
        let answer = site.send(
            "POST", "/_session?fail=\(path)", Self.login("wrong"), Self.headers)
        #expect(answer.status == 401 && answer.headers["Location"] == nil)
    }
}
