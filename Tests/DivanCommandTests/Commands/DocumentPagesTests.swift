// SPDX-License-Identifier: Apache-2.0

import Divan
import Foundation
import Testing

@testable import DivanCommand

/// `divan export` and its like read in pages, so that a slow reader holds nothing up.
@Suite struct DocumentPagesTests {
    @Test func `no snapshot is held while a document is written out`() throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("divan-pages-\(UUID().uuidString).divan")
        defer { try? FileManager.default.removeItem(at: folder) }
        var options = DatabaseOptions()
        options.create = true
        let database = try Database.open(at: folder, options: options)
        defer { database.close() }
        try database.inBatch {
            for number in 0..<2_500 {
                try database.save(MutableDocument(id: "d\(10_000 + number)"))
            }
        }
        let filler = JSONValue.string(String(repeating: "x", count: 4 << 20))
        let log = folder.path + "/data-1/main.sqlite3-wal"
        var (shown, largest) = (0, 0)
        var wanted = AllDocumentsOptions()
        wanted.startID = "d"
        try DocumentPages.forEach(in: database, wanted, interruption: Interruption()) { _ in
            // 80 MB in the middle of a page, more than the log may be long.
            if shown == 1_500 {
                for number in 0..<20 {
                    try database.save(MutableDocument(["f": filler], id: "a\(shown)-\(number)"))
                    let size = try FileManager.default.attributesOfItem(atPath: log)[.size]
                    largest = max(largest, (size as? NSNumber)?.intValue ?? 0)
                }
            }
            shown += 1
        }
        #expect(shown == 2_500)
        #expect(largest > 0 && largest < 64 << 20, "the log grew to \(largest >> 20) MB")
    }

    @Test func `a page that ends with an ID leaves out no other one that looks the same`() throws {
        let database = try Database.inMemory()
        defer { database.close() }
        // The first page has 1,001 rows and ends with K; the sign of Kelvin is on the second one.
        let ids = (0..<1_000).map { "A\(10_000 + $0)" } + ["K", "\u{212A}"]
        try database.inBatch {
            for id in ids { try database.save(MutableDocument(id: DocumentID(id))) }
        }
        var found: [String] = []
        try DocumentPages.forEach(
            in: database, AllDocumentsOptions(), interruption: Interruption()
        ) { found.append($0.id.text) }
        #expect(found.map { Array($0.utf8) } == ids.map { Array($0.utf8) })
    }
}
