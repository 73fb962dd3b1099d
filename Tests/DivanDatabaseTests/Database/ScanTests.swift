// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

@Suite struct ScanTests {
    private let database: Database

    init() throws { database = try Database.inMemory() }

    private func scannedIDs() throws -> [String] {
        var ids: [String] = []
        try database.read { try $0.scan { ids.append(try $0.id.text) } }
        return ids
    }

    @Test func `a scan passes over live documents in the order of their last change`() throws {
        for id: DocumentID in ["a", "b", "c", "d"] { try database.create(id) }
        try database.update("b") { $0["n"] = 1 }
        try database.delete("c")
        #expect(try scannedIDs() == ["a", "d", "b"])
    }

    @Test func `a scan shows the winner of a conflict once`() throws {
        try database.create("a", ["n": 1])
        try database.putExistingRevision("a", ["n": 2], history: ["1-0"])
        try database.putExistingRevision("a", ["n": 3], history: ["9-z"], isDeleted: true)
        var numbers: [Int64?] = []
        try database.read { try $0.scan { numbers.append(try $0.int64(forKey: "n")) } }
        #expect(numbers == [1])
    }

    @Test func `accessors give nil for what is missing or of another type`() throws {
        try database.create("a", ["i": 7, "d": 1.5, "b": true, "s": "text", "n": nil, "l": [1]])
        try database.read { transaction in
            try transaction.scan { row throws in
                #expect(try row.int64(forKey: "i") == 7)
                #expect(try row.double(forKey: "i") == 7)
                #expect(try row.double(forKey: "d") == 1.5)
                #expect(try row.bool(forKey: "b") == true)
                #expect(try row.string(forKey: "s") == "text")
                for key in ["s", "n", "l", "x"] { #expect(try row.int64(forKey: key) == nil) }
                for key in ["i", "n", "l", "x"] { #expect(try row.string(forKey: key) == nil) }
                #expect(try row.bool(forKey: "i") == nil)
            }
        }
    }

    @Test func `a copy outlives the scan`() throws {
        let saved = try database.create("a", ["n": 1])
        let large = try database.create("b", ["t": .string(String(repeating: "x", count: 40_000))])
        var copies: [Document] = []
        try database.read { try $0.scan { copies.append(try $0.document()) } }
        #expect(copies == [saved, large])
        #expect(copies.map(\.sequence) == [1, 2])
        #expect(copies.map(\.properties) == [saved.properties, large.properties])
    }

    @Test func `an error from the closure ends the scan`() throws {
        try database.create("a")
        #expect(throws: Whim()) { try database.read { try $0.scan { _ in throw Whim() } } }
        try database.create("b")
    }

    @Test func `a scan in a batch sees the batch`() throws {
        try database.create("a")
        try database.inBatch {
            try database.create("b")
            try database.delete("a")
            #expect(try scannedIDs() == ["b"])
        }
    }

    @Test func `a scan in a batch ends though its closure saves what it scans`() throws {
        let database = try Database.inMemory()
        for number in 0..<50 {
            try database.create("doc-\(number)", ["n": .integer(Int64(number))])
        }
        var seen: [String] = []
        try database.inBatch {
            try database.read { transaction in
                try transaction.scan { document in
                    let id = try document.id
                    seen.append(id.text)
                    try database.update(id) { $0["seen"] = true }
                    // One that is still ahead: its old revision is no longer current when it comes.
                    if id == "doc-0" { try database.update("doc-40") { $0["early"] = true } }
                }
            }
        }
        #expect(seen.count == 49 && !seen.contains("doc-40"))
        #expect(try database.verify().isEmpty)
    }

    @Test func `an enumeration in a batch ends though its closure creates documents`() throws {
        let database = try Database.inMemory()
        for number in 0..<20 { try database.create("doc-\(number)", [:]) }
        var count = 0
        try database.inBatch {
            try database.forEachDocument { row in
                count += 1
                try database.save(MutableDocument(id: "\(row.id)-z"))
            }
        }
        #expect(count == 20)
    }

    @Test func `a closure that is lent IDs in a batch may write`() throws {
        let database = try Database.inMemory()
        for number in 0..<20 { try database.create("doc-\(number)", [:]) }
        var seen: [DocumentID] = []
        try database.inBatch {
            try database.forEachDocumentID { lent in
                let id = DocumentID(copying: lent)
                seen.append(id)
                try database.update(id) { $0["seen"] = true }
                try database.save(MutableDocument(id: "\(id)-z"))
                // The bytes are still those that were lent.
                #expect(DocumentID(copying: lent) == id)
            }
        }
        #expect(seen == (0..<20).map { "doc-\($0)" }.sorted())
        #expect(try database.documentCount == 40)
        #expect(try database.verify().isEmpty)
    }
}
