// SPDX-License-Identifier: Apache-2.0

import Divan
package import DivanModel
import DivanTestSupport
import FoundationEssentials

/// The database that bits are flipped in: every kind of row there is, twice.
///
/// `closed` is a database that was closed; `crashed` is the same as a killed process leaves it, with
/// the second half of its commits in the log only.
package enum DamageFixture {
    /// The IDs of its documents, deleted and purged ones too.
    package static let ids: [DocumentID] = (0..<100).map { "document-\($0)" } + ["missing"]
    /// The IDs of its local documents.
    package static let localIDs: [DocumentID] = (0..<12).map { "local-\($0)" }

    /// Makes `closed` and `crashed` in a directory.
    package static func make(in directory: String) throws {
        let work = directory + "/work"
        var random = SeededRandom(seed: 7)
        let first = try Database.forTest(at: work, create: true)
        try fill(first, part: 0, &random)
        first.close()
        let second = try Database.forTest(at: work)
        try fill(second, part: 1, &random)
        // No writer is active, so a copy is what a crash at this moment would leave.
        try FileManager.default.copyItem(atPath: work, toPath: directory + "/crashed")
        second.close()
        try FileManager.default.moveItem(atPath: work, toPath: directory + "/closed")
    }

    private static func fill(_ database: Database, part: Int, _ random: inout SeededRandom) throws {
        let ids = self.ids.dropLast()
        try database.inBatch {
            for (index, id) in ids.enumerated() where index % 2 == part {
                try database.save(MutableDocument(KnownBody.make(id.text, index * 7 + 1), id: id))
            }
        }
        for local in localIDs.indices where local % 2 == part {
            try database.putLocalDocument(
                localIDs[local], KnownBody.make(localIDs[local].text, local + 1))
        }
        if part == 1 { try database.compact() }
        for index in stride(from: 0, to: ids.count, by: 5) {
            try edit(database, ids[ids.startIndex + index], &random)
        }
        // The last commit moves the feed, so that losing any commit of the log shows there.
        try database.save(MutableDocument(KnownBody.make("last-\(part)", 50), id: "last-\(part)"))
    }

    private static func edit(
        _ database: Database, _ id: DocumentID, _ random: inout SeededRandom
    ) throws {
        guard let document = try database.document(withID: id) else { return }
        let copy = document.toMutable()
        copy.setProperties(KnownBody.make(id.text, random.below(5_000)))
        try database.save(copy)
        switch random.below(5) {
        case 0: try database.delete(id)
        case 1: try database.purge(id)
        case 2, 3:
            // A sibling of the edit above.
            let digest = String(random.next() | 1 << 63, radix: 16) + "0123456789abcdef"
            try database.putExistingRevision(
                id, KnownBody.make(id.text, 50 * random.below(90)),
                history: ["\(document.generation + 1)-\(digest)", document.revisionID])
        default:
            let large = KnownBody.make(id.text, 50 * random.below(90) + 50)
            copy.setProperties(large)
            try database.save(copy)
        }
    }
}
