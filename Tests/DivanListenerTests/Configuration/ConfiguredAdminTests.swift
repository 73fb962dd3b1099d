// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import Foundation
import Testing

@testable import DivanListener

/// The section `admins` of the configuration.
@Suite struct ConfiguredAdminTests {
    private static func basic(_ name: String, _ password: String) -> HTTPHeaders {
        ["Authorization": "Basic " + Base64.encode(Array("\(name):\(password)".utf8))]
    }

    private let site: TestSite
    private let ann = basic("ann", "secret")

    init() throws {
        site = try TestSite { $0.access = .users(["ann": "secret"]) }
    }

    private func put(_ name: String, _ text: String) -> TestAnswer {
        site.send(
            "PUT", "/_node/_local/_config/admins/\(name)", JSONValue.string(text).description, ann)
    }

    @Test func `a password that is put makes an administrator, and only its hash is shown`() throws
    {
        #expect(put("eve", "pass").text == "\"\"\n")
        let eve = Self.basic("eve", "pass")
        #expect(site.send("GET", "/_all_dbs", "", eve).status == 200)
        let section = site.send("GET", "/_node/_local/_config/admins", "", eve).json
        let hash = try #require(section["eve"]?.string)
        #expect(hash.hasPrefix("-pbkdf2:sha256-") && hash.hasSuffix(",600000"))
        // Of the program's own there is no hash to show, and the password is not shown either.
        #expect(section["ann"] == "-given-")
        // Another password ends the former one, and answers its hash.
        #expect(put("eve", "word").json.string == hash)
        #expect(site.send("GET", "/_all_dbs", "", eve).status == 401)
        #expect(site.send("GET", "/_all_dbs", "", Self.basic("eve", "word")).status == 200)
    }

    @Test func `a hash that is put counts as it is`() throws {
        _ = put("eve", "pass")
        let hash = site.send("GET", "/_node/_local/_config/admins/eve", "", ann).json.string ?? ""
        #expect(put("joe", hash).status == 200)
        #expect(site.send("GET", "/_all_dbs", "", Self.basic("joe", "pass")).status == 200)
        for other in ["-pbkdf2-00,salt,10", "-hashed-00,salt", "-pbkdf2:sha256-00,salt,10", ""] {
            #expect(put("max", other).status == 400, "\(other)")
        }
    }

    @Test func `what was shown is put back without a change, and a new password keeps other roles`()
        throws
    {
        let folder = TestSite.newFolder()
        let path = folder.path + "/listener.json"
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var file = AccountsFile()
        // As an earlier release hashed: the salt is no text.
        let salt: [UInt8] = [0, 0xFF, 0x2C, 7]
        let key = Secrets.derive("old", salt: salt, iterations: 10)
        file.users["max"] = AccountsFile.User(
            salt: salt, key: key, iterations: 10, roles: ["_admin", "staff"])
        #expect(file.write(to: path))
        let site = try TestSite({ $0.access = .users(["ann": "secret"]) }, folder: folder)
        let max = "/_node/_local/_config/admins/max"
        let shown = site.send("GET", max, "", ann).json
        #expect(site.send("PUT", max, shown.description, ann).status == 200)
        #expect(site.send("GET", "/_all_dbs", "", Self.basic("max", "old")).status == 200)
        #expect(site.send("PUT", max, "\"new\"", ann).status == 200)
        let session = site.send("GET", "/_session", "", Self.basic("max", "new")).json
        #expect(session["userCtx"]?["roles"] == ["_admin", "staff"])
    }

    @Test func `an administrator with a document in the database of users has the roles of both`() {
        #expect(put("jan", "apple").status == 200)
        for name in ["jan", "ann"] {
            let path = "/_users/org.couchdb.user:\(name)"
            let body = #"{"name":"\#(name)","type":"user","roles":["foo"],"password":"other"}"#
            #expect(site.send("PUT", path, body, ann).status == 201)
        }
        func roles(_ fields: HTTPHeaders) -> JSONValue? {
            site.send("GET", "/_session", "", fields).json["userCtx"]?["roles"]
        }
        let jan = Self.basic("jan", "apple")
        #expect(roles(jan) == ["_admin", "foo"])
        #expect(roles(ann) == ["_admin", "foo"])
        // The password is the administrator's alone.
        #expect(site.send("GET", "/_session", "", Self.basic("jan", "other")).status == 401)
        let login = site.send(
            "POST", "/_session", #"{"name":"jan","password":"apple"}"#,
            ["Content-Type": "application/json"])
        #expect(login.json["roles"] == ["_admin", "foo"])
        let cookie = String((login.headers["Set-Cookie"] ?? "").prefix { $0 != ";" })
        #expect(roles(["Cookie": cookie]) == ["_admin", "foo"])
        let document = site.send("GET", "/_users/org.couchdb.user:jan", "", ann).json
        let revision = document["_rev"]?.string ?? ""
        site.send("DELETE", "/_users/org.couchdb.user:jan?rev=\(revision)", "", ann)
        #expect(roles(jan) == ["_admin"])
    }

    @Test func `an administrator that is deleted is none any more`() throws {
        _ = put("eve", "pass")
        #expect(
            site.send("DELETE", "/_node/_local/_config/admins/eve", "", ann).json.string?
                .hasPrefix("-pbkdf2") == true)
        #expect(site.send("GET", "/_all_dbs", "", Self.basic("eve", "pass")).status == 401)
        #expect(site.send("DELETE", "/_node/_local/_config/admins/eve", "", ann).status == 404)
    }

    @Test func `an administrator whom the program gives stays as it gives it`() throws {
        #expect(put("ann", "other").status == 403)
        #expect(site.send("DELETE", "/_node/_local/_config/admins/ann", "", ann).status == 403)
        #expect(put("a%3Ab", "other").status == 400)
    }

    @Test func `a setup makes an administrator and the databases of the listener`() throws {
        let setup = #"{"action":"enable_single_node","username":"eve","password":"pass"}"#
        #expect(site.send("POST", "/_cluster_setup", setup).status == 401)
        #expect(site.send("POST", "/_cluster_setup", setup, ann).status == 201)
        let eve = Self.basic("eve", "pass")
        #expect(site.send("GET", "/_all_dbs", "", eve).json == ["_replicator", "_users"])
        let state = site.send("GET", "/_cluster_setup", "", eve).json["state"]
        #expect(state == "single_node_enabled")
        // The name of one that the program gives is there already.
        let again = #"{"action":"enable_single_node","username":"ann","password":"other"}"#
        #expect(site.send("POST", "/_cluster_setup", again, ann).status == 201)
        #expect(site.send("GET", "/_all_dbs", "", ann).status == 200)
    }
}
