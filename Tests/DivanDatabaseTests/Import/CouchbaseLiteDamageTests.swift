// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import FoundationEssentials
import Testing

/// Imports of databases with records that are damaged: they are reported, and the rest comes over.
@Suite struct CouchbaseLiteDamageTests {
    private let directory: TestDirectory
    private let manager: Manager
    private let sample: CouchbaseLiteSample

    init() throws { (directory, manager, sample) = try CouchbaseLiteSample.withGoodDocument() }

    /// Imports and returns the problems; what is good must have come over, and be sound.
    private func problems() throws -> [String] {
        sample.close()
        let result = try manager.importCouchbaseLite(at: URL(filePath: sample.path))
        let database = try manager.database(named: "shop")
        #expect(try database.existing("good").int(forKey: "n") == 1)
        #expect(try database.problems() == [])
        #expect(result.problemCount == result.problems.count)
        return result.problems.map(\.message)
    }

    @Test func `a body that is not JSON or not an object is left out`() throws {
        try sample.document(2, "bad")
        try sample.revision(2, of: 2, "1-a", #"{"n":"#)
        try sample.document(3, "list")
        try sample.revision(3, of: 3, "1-a", "[1]")
        try sample.document(4, "reserved")
        try sample.revision(4, of: 4, "1-a", #"{"_strange":1}"#)
        let found = try problems()
        #expect(found.count == 3)
        #expect(found[0].contains("1-a of document 'bad'"))
        #expect(try manager.database(named: "shop").documentCount == 1)
    }

    @Test func `IDs that cannot be are left out`() throws {
        try sample.document(2, "bad")
        try sample.revision(2, of: 2, "nonsense", "{}")
        try sample.document(3, "_private")
        try sample.revision(3, of: 3, "1-a", "{}")
        try sample.revision(4, of: 99, "1-a", "{}")
        try sample.revision(-5, of: 2, "1-a", "{}")
        let found = try problems()
        #expect(found.count == 4)
        #expect(found.contains { $0.contains("belongs to no document") })
    }

    static let numbers = [
        "-1", "0", "9007199254740993", "9223372036854775807", "-9223372036854775808", "1e300",
        "-1e300", "-0.0",
        "1e-300", "9e999", "-9e999", "'x'", "x'ff'",
    ]

    @Test(arguments: numbers)
    func `any number in a table is imported, or reported`(number: String) throws {
        // Where the bytes of a real database put an integer, another program may put anything.
        try sample.run(
            "CREATE TABLE plain (sequence, doc_id, revid, parent, current, deleted, json)")
        try sample.run("INSERT INTO plain SELECT * FROM revs")
        try sample.run("DROP TABLE revs")
        try sample.run("ALTER TABLE plain RENAME TO revs")
        try sample.document(2, "number")
        try sample.run("UPDATE docs SET expiry_timestamp = \(number) WHERE doc_id = 2")
        try sample.run("INSERT INTO revs VALUES (2, 2, '1-a', NULL, 1, 0, '{}')")
        try sample.document(3, "other")
        try sample.run("INSERT INTO revs VALUES (\(number), 3, '1-a', NULL, 1, 0, '{}')")
        try sample.run("INSERT INTO revs VALUES (3, 3, '2-b', \(number), 1, \(number), '{}')")
        try sample.document(4, "last")
        try sample.run("INSERT INTO revs VALUES (4, 4, '1-a', NULL, 1, 0, '{}')")
        try sample.run("UPDATE sqlite_sequence SET seq = \(number)")
        try sample.info("max_revs", number.filter { $0 != "'" })
        try sample.local("l", revision: number.filter { $0 != "'" } + "-local", "{}")
        _ = try problems()
        let database = try manager.database(named: "shop")
        // Sequences are left for what comes now.
        for count in Int64(0)..<3 {
            try database.save(MutableDocument(["n": .integer(count)], id: "new-\(count)"))
        }
        #expect(try database.lastSequence < 1 << 54)
        #expect(try database.problems() == [])
    }

    @Test(arguments: numbers)
    func `any number in the stub of an attachment is imported, or reported`(number: String) throws {
        guard Double(number) != nil, !number.contains("e999") else { return }
        try sample.content(CouchbaseLiteSample.helloDigest, CouchbaseLiteSample.hello)
        try sample.document(2, "stub")
        try sample.revision(
            2, of: 2, "1-a",
            #"{"_attachments":{"f":{"stub":true,"digest":"\#(CouchbaseLiteSample.helloDigest)","#
                + #""length":\#(number),"encoded_length":\#(number),"revpos":\#(number)}}}"#)
        _ = try problems()
    }

    @Test func `a leaf without a body is reported and its ancestor with one stays`() throws {
        try sample.document(2, "half")
        try sample.revision(2, of: 2, "1-a", leaf: false, #"{"n":1}"#)
        try sample.revision(3, of: 2, "2-b", parent: 2, nil)
        let found = try problems()
        #expect(found == ["Revision 2-b of document 'half' has no body."])
        #expect(try manager.database(named: "shop").existing("half").revisionID == "1-a")
    }

    @Test func `a history that does not fit is cut where it stops fitting`() throws {
        try sample.document(2, "leap")
        try sample.revision(2, of: 2, "1-a", leaf: false, "{}")
        try sample.revision(3, of: 2, "3-c", parent: 2, "{}")
        try sample.document(3, "loop")
        try sample.revision(4, of: 3, "2-b", parent: 4, "{}")
        try sample.document(4, "stranger")
        try sample.revision(5, of: 4, "2-b", parent: 1, "{}")
        try sample.document(5, "orphan")
        try sample.revision(6, of: 5, "2-b", parent: 77, "{}")
        #expect(try problems().count == 4)
        let database = try manager.database(named: "shop")
        #expect(try database.revisionHistory(of: "leap") == ["3-c"])
        #expect(try database.revisionHistory(of: "stranger") == ["2-b"])
    }

    @Test func `attachments that are lost or damaged are reported and their stubs stay`() throws {
        let lost = "sha1-AAAAAAAAAAAAAAAAAAAAAAAAAAA="
        try sample.document(2, "pic")
        try sample.revision(
            2, of: 2, "1-a",
            #"{"_attachments":{"lost":\#(CouchbaseLiteSample.stub(lost, length: 3)),"bad":"#
                + CouchbaseLiteSample.stub(CouchbaseLiteSample.helloDigest, length: 5) + "}}")
        try sample.content(CouchbaseLiteSample.helloDigest, Array("hellO".utf8))
        let found = try problems()
        #expect(found.count == 2)
        #expect(
            found.contains { $0.contains("is lost") } && found.contains { $0.contains("damaged") })
        let document = try manager.database(named: "shop").existing("pic")
        #expect(document.attachmentNames.sorted() == ["bad", "lost"])
        let attachment = try #require(document.attachment(named: "bad"))
        #expect(code { try attachment.content() } == .attachmentNotFound)
    }

    @Test func `local documents that cannot be read are reported`() throws {
        try sample.local("_local/bad", revision: "1-local", "{")
        try sample.local("_local/good", revision: "1-local", "{}")
        #expect(try problems().count == 1)
        #expect(try manager.database(named: "shop").localDocument("good") == [:])
    }

    @Test func `a lost private UUID is reported`() throws {
        try sample.run("DELETE FROM info")
        #expect(try problems().count == 1)
        #expect(try !manager.database(named: "shop").privateUUID.isEmpty)
    }

    @Test func `revisions on damaged pages are reported and those around them come over`() throws {
        let filler = String(repeating: "x", count: 900)
        for n in 2...400 {
            try sample.document(n, "doc-\(n)")
            try sample.revision(n, of: n, "1-a", #"{"n":\#(n),"filler":"\#(filler)"}"#)
        }
        sample.close()
        // A leaf page of the table of revisions, somewhere in its middle.
        let file = directory.url("shop.cblite2/db.sqlite3")
        var data = try Data(contentsOf: file)
        let mark = Array(#"{"n":200,"#.utf8)
        let place = try #require(data.firstRange(of: mark))
        let page = place.lowerBound / 4_096 * 4_096
        for offset in page..<page + 8 { data[offset] = 0xFF }
        try data.write(to: file)
        let found = try problems()
        #expect(found.count == 1)
        let database = try manager.database(named: "shop")
        let count = try database.documentCount
        #expect(count >= 390 && count < 400)
        #expect(try database.contains("doc-100") && database.contains("doc-400"))
        #expect(try !database.contains("doc-200"))
    }
}
