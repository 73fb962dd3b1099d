// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

/// Databases that another program deletes, replaces or damages while they are served.
@Suite struct ChangedDirectoryTests {
    private let site: TestSite

    init() throws { site = try TestSite() }

    private func url(_ name: String) -> URL { site.folder.appending(path: "\(name).divan") }

    /// Makes a database as another program does, with a document.
    private func make(_ name: String, _ id: DocumentID) throws {
        var options = DatabaseOptions()
        options.create = true
        let database = try Database.open(at: url(name), options: options)
        _ = try database.put(id, ["n": 1], parent: nil)
        database.close()
    }

    @Test func `a database that was deleted is served no more and can be made again`() throws {
        #expect(site.send("PUT", "/db").status == 201)
        #expect(site.send("PUT", "/db/old", "{}").status == 201)
        try FileManager.default.removeItem(at: url("db"))
        #expect(site.send("GET", "/db/old").status == 404)
        #expect(site.send("PUT", "/db/new", "{}").status == 404)
        #expect(site.send("DELETE", "/db").status == 404)
        #expect(site.send("PUT", "/db").status == 201)
        #expect(site.manager.databaseExists(named: "db"))
        #expect(site.send("PUT", "/db/new", "{}").status == 201)
        #expect(site.send("GET", "/db/old").status == 404)
    }

    @Test func `a database that was replaced is served as it is now`() throws {
        #expect(site.send("PUT", "/db").status == 201)
        #expect(site.send("PUT", "/db/old", "{}").status == 201)
        try FileManager.default.removeItem(at: url("db"))
        try make("db", "new")
        #expect(site.send("GET", "/db/new").status == 200)
        #expect(site.send("GET", "/db/old").status == 404)
        #expect(site.send("PUT", "/db/other", "{}").status == 201)
        #expect(site.send("DELETE", "/db").status == 200)
        #expect(!site.manager.databaseExists(named: "db"))
    }

    @Test func `a database that cannot be opened is told apart in a list of others`() throws {
        for name in ["a", "b", "damaged"] { try make(name, "d") }
        try Data("nothing".utf8).write(to: url("damaged").appending(path: "manifest"))
        let asked = site.send("POST", "/_dbs_info", #"{"keys":["a","damaged","b","none"]}"#)
        #expect(asked.status == 200)
        let entries = try #require(asked.json.array)
        #expect(entries.map { $0["key"]?.string } == ["a", "damaged", "b", "none"])
        #expect(entries.map { $0["info"]?["doc_count"] } == [1, nil, 1, nil])
        #expect(
            entries.map { $0["error"]?.string } == [
                nil, "internal_server_error", nil, "not_found",
            ])
        #expect(entries[1]["reason"] == "Stored data is damaged.")
        let listed = site.send("GET", "/_dbs_info")
        #expect(listed.status == 200)
        #expect(
            listed.json.array?.map { $0["error"]?.string } == [nil, nil, "internal_server_error"])
    }

    @Test func `a database that cannot be opened keeps no news of others back`() throws {
        for name in ["a", "b", "damaged"] { try make(name, "d") }
        let manifest = url("damaged").appending(path: "manifest")
        let whole = try Data(contentsOf: manifest)
        try Data("nothing".utf8).write(to: manifest)
        var news = site.send("GET", "/_db_updates")
        #expect(news.status == 200)
        #expect(news.json["results"]?.array?.map { $0["db_name"]?.string } == ["a", "b"])
        try whole.write(to: manifest)
        news = site.send("GET", "/_db_updates")
        #expect(
            news.json["results"]?.array?.map { $0["db_name"]?.string } == ["a", "b", "damaged"])
    }
}
