// SPDX-License-Identifier: Apache-2.0

import Divan
import FoundationEssentials
import Testing

/// The example in README.md, line for line: `scripts/check-docs` compares the two.
@Suite struct ReadmeTests {
    @Test func `the taste in the README runs and does what it says`() throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "divan-readme-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }

        // taste
        let manager = try Manager(directory: folder)
        let db = try manager.database(named: "app")  // opens or creates

        let task = MutableDocument(["type": "task", "title": "Learn Persian", "done": false])
        try db.save(task)  // a first revision, 1-…
        try db.update(task.id) { $0["done"] = true }  // reads, edits, saves, retries

        if let read = try db.document(withID: task.id) {  // an immutable snapshot, or nil
            print(read.revisionID, read.string(forKey: "title") ?? "", read.bool(forKey: "done"))
        }

        try db.inBatch {  // all of it, or nothing
            for day in ["Saturday", "Sunday"] {
                try db.save(MutableDocument(["type": "day", "name": .string(day)]))
            }
        }
        for change in try db.changes(since: 0).changes {  // each document once, newest last
            print(change.sequence, change.id)
        }

        let days = db.view(named: "days")  // an index, made by a function
        days.setMap(version: "1") { document, emit in
            if document["type"].string == "day" { emit(document["name"]) }
        }
        for row in try days.query(.range(from: "Sat")).run() {
            print(row.key, row.documentID ?? "")
        }
        // end of taste

        #expect(try days.query(.range(from: "Sat")).run().map(\.key) == ["Saturday", "Sunday"])
        #expect(try db.documentCount == 3)
        #expect(try db.document(withID: task.id)?.generation == 2)
        #expect(try db.document(withID: task.id)?["done"].bool == true)
        manager.close()
    }
}
