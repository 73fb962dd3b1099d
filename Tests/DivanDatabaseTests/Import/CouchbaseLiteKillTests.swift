// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import FoundationEssentials
import Testing

/// A process that imports a database over and over is killed at random moments.
@Suite struct CouchbaseLiteKillTests {
    @Test func `a database is imported whole or not there after a kill while importing`()
        async throws
    {
        let directory = try TestDirectory("kill-import")
        let sample = try CouchbaseLiteSample(directory.path)
        try sample.info("privateUUID", "private")
        try sample.content(CouchbaseLiteSample.helloDigest, CouchbaseLiteSample.hello)
        let stub = CouchbaseLiteSample.stub(CouchbaseLiteSample.helloDigest, length: 5)
        try sample.run("BEGIN")
        for n in 1...600 {
            try sample.document(n, "document-\(n)")
            try sample.revision(
                n, of: n, "1-a", #"{"n":\#(n),"_attachments":{"note":\#(stub)}}"#)
        }
        try sample.run("COMMIT")
        // With its log, so that the copy of the source is among what a kill may leave.
        let source = try sample.copyOfKilled(to: directory.path("killed"))
        let before = try filesBelow(source)
        let (whole, cut) = try await offPool {
            var (whole, cut) = (0, 0)
            for round in Soak.rounds(test: 20, soak: 300) {
                var random = Soak.random(round: round, salt: 0x696D_706F)
                let child = try TestChild("import", directory.path, source)
                var lines = [child.readLine() ?? ""]
                // Some are killed in their first import, some in one after a whole one.
                if random.oneIn(2) { lines.append(child.readLine() ?? "") }
                lines += child.readLines(killingAfterMicroseconds: random.below(150_000))
                #expect(child.wait() == -9, "Round \(round): the child failed by itself.")
                let found = try check(directory, lines, round)
                whole += found.whole
                cut += found.cut
            }
            return (whole, cut)
        }
        // So many that kills have hit children at work, and that imports came to their end, too.
        #expect(whole >= Soak.count(test: 2, soak: 20))
        #expect(cut >= Soak.count(test: 2, soak: 20))
        #expect(try filesBelow(source) == before)
    }

    /// Looks at what a kill has left and removes it; counts whole databases and begun ones.
    private func check(_ directory: TestDirectory, _ lines: [String], _ round: Int) throws
        -> (whole: Int, cut: Int)
    {
        let folder = directory.path("new")
        let manager = try Manager(directory: directory.url("new"))
        defer { manager.close() }
        let names = try manager.allDatabaseNames()
        for line in lines where line.hasPrefix("done ") {
            #expect(names.contains("shop-" + line.dropFirst(5)), "Round \(round): \(line)")
        }
        for name in names {
            let database = try manager.database(named: name)
            #expect(try database.documentCount == 600, "Round \(round)")
            #expect(try database.verify().isEmpty, "Round \(round)")
            #expect(database.privateUUID == "private")
            let note = try database.existing("document-300").attachment(named: "note")
            #expect(try note?.content() == CouchbaseLiteSample.hello)
        }
        let directories = try FileManager.default.contentsOfDirectory(atPath: folder)
        // What a kill has left is no obstacle to the next import.
        if let left = directories.first(where: { !names.contains(String($0.dropLast(6))) }) {
            let source = URL(filePath: directory.path("killed/shop.cblite2"))
            let name = String(left.dropLast(6))
            #expect(try manager.importCouchbaseLite(at: source, named: name).documents == 600)
        }
        manager.close()
        try FileManager.default.removeItem(atPath: folder)
        return (names.count, directories.count - names.count)
    }
}
