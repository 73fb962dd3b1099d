// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import Testing

@testable import DivanListener

/// How places in a feed are written and read.
@Suite struct WireSequenceTests {
    private func sequences(numbers: Bool = false) throws -> (TestSite, WireSequence) {
        let site = try TestSite { $0.numberSequences = numbers }
        let database = try site.manager.database(named: "db")
        for id in ["a", "b", "c"] as [DocumentID] {
            try database.save(MutableDocument([:], id: id))
        }
        return (site, site.router.site.sequences(of: database))
    }

    /// The IDs behind a place.
    private func ids(_ site: TestSite, since: String) -> [String]? {
        site.send("GET", "/db/_changes?since=\(since)").json["results"]?.array?
            .compactMap { $0["id"]?.string }
    }

    @Test func `a place is an opaque text that the feed goes on from`() throws {
        let (site, sequences) = try sequences()
        let rows = site.send("GET", "/db/_changes").json["results"]?.array ?? []
        #expect(rows.map { $0["seq"]?.place } == [1, 2, 3])
        let second = try #require(rows[1]["seq"]?.string)
        #expect(.string(second) == sequences.value(2))
        #expect(ids(site, since: second) == ["c"])
        #expect(ids(site, since: "%22\(second)%22") == ["c"])
        let resumed = site.send("GET", "/db/_changes", "", ["Last-Event-ID": second])
        #expect(resumed.json["results"]?.array?.count == 1)
    }

    @Test func `a number is taken, as are texts of numbers`() throws {
        let (site, _) = try sequences()
        #expect(ids(site, since: "2") == ["c"])
        #expect(ids(site, since: "%222%22") == ["c"])
    }

    @Test func `a place that was counted elsewhere is the beginning`() throws {
        let (site, sequences) = try sequences()
        let own = try #require(sequences.value(2).string)
        for foreign in [
            "2-g1AAAACTeJzLYWBgYMpgTmHgz8tPSTV0MDQy1zMAQsMckEQiQ1L9", "2-", "[2,%22g1AAAA%22]",
            own + "x",
            String(own.dropLast()), "99", "2-" + String(repeating: "a", count: 11),
        ] {
            #expect(ids(site, since: foreign) == ["a", "b", "c"], "\(foreign)")
        }
    }

    @Test func `a database that was deleted and made again does not know its former places`() throws
    {
        let (site, _) = try sequences()
        let former = try #require(site.send("GET", "/db").json["update_seq"]?.string)
        #expect(ids(site, since: former) == [])
        site.send("DELETE", "/db")
        site.send("PUT", "/db")
        for id in ["d", "e", "f", "g"] { site.send("PUT", "/db/\(id)", "{}") }
        #expect(ids(site, since: former) == ["d", "e", "f", "g"])
    }

    @Test func `what is no place is refused`() throws {
        let (site, _) = try sequences()
        for wrong in ["x", "-1", "2x", "1.5", "\u{661}", "2%20", "18446744073709551616", "%22"] {
            #expect(site.send("GET", "/db/_changes?since=\(wrong)").status == 400, "\(wrong)")
        }
    }

    @Test func `an option keeps numbers, and takes texts all the same`() throws {
        let (site, _) = try sequences(numbers: true)
        let feed = site.send("GET", "/db/_changes?since=1").json
        #expect(feed["results"]?.array?.map { $0["seq"] } == [2, 3])
        #expect(feed["last_seq"] == 3)
        #expect(site.send("GET", "/db").json["update_seq"] == 3)
        #expect(ids(site, since: "2-g1AAAA") == ["a", "b", "c"])
        let text = WireSequence(try site.manager.database(named: "db"), areNumbers: false)
        #expect(ids(site, since: text.value(2).string ?? "") == ["c"])
    }
}
