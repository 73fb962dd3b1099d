// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

/// Databases that another program deletes or replaces while they are served.
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
}
