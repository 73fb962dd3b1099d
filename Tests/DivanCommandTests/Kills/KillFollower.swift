// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanTestSupport

/// A client that follows the changes feed: it remembers the place up to which it has read, and of each document the
/// revision that it was told of.
struct KillFollower: Sendable {
    private var random: SeededRandom
    private(set) var since: UInt64 = 0
    private var known: [DocumentID: (sequence: UInt64, revision: RevisionID)] = [:]
    private(set) var complaint: String?

    init(_ random: SeededRandom) { self.random = random }

    mutating func begin(_ random: SeededRandom) { self.random = random }

    /// Reads a piece of the feed; false when it was not answered in whole, or not as it should be.
    mutating func step(_ connection: KeptConnection) -> Bool {
        let waits = random.oneIn(2)
        let query =
            waits ? "feed=longpoll&timeout=50" : "limit=\(1 + random.below(40))"
        let request = KillRequest("GET", "/notes/_changes?since=\(since)&\(query)")
        guard let answer = connection.send(request) else { return false }
        let json = answer.json
        guard answer.isSuccess, let last = Self.place(json["last_seq"]),
            let rows = json["results"]?.array
        else {
            complaint = "_changes was answered \(answer.status)"
            return false
        }
        for row in rows { take(row) }
        if last < since { complaint = "_changes since \(since) ends at \(last)" }
        since = last
        return complaint == nil
    }

    /// The number in a sequence.
    private static func place(_ sequence: JSONValue?) -> UInt64? {
        sequence?.string?.split(separator: "-").first.flatMap { UInt64($0) }
    }

    private mutating func take(_ row: JSONValue) {
        guard let id = row["id"]?.string, let sequence = Self.place(row["seq"]),
            let revision = row["changes"]?[0]?["rev"]?.string
        else {
            complaint = "a row of _changes lacks something"
            return
        }
        if sequence <= since { complaint = "_changes since \(since) has the sequence \(sequence)" }
        known[DocumentID(id)] = (sequence, RevisionID(revision))
    }

    /// Compares what it was told with the feed as it is, and reads on to its end; returns what is wrong.
    mutating func settle(_ database: Database) throws -> String? {
        let last = try database.lastSequence
        guard last >= since else {
            return "the last sequence is \(last), and \(since) was told"
        }
        var feed: [DocumentID: (sequence: UInt64, revision: RevisionID)] = [:]
        var before: UInt64 = 0
        for change in try database.changes().changes {
            if change.sequence <= before { return "the feed goes back at \(change.sequence)" }
            before = change.sequence
            if feed[change.id] != nil { return "the feed has \(change.id) twice" }
            feed[change.id] = (change.sequence, change.revisions[0])
        }
        for id in known.keys where feed[id] == nil {
            // Purged, of which no feed tells.
            guard try database.revisionTree(of: id) == nil else { return "the feed lacks \(id)" }
            known[id] = nil
        }
        for (id, old) in known {
            guard let new = feed[id], new.sequence <= since else { continue }
            if new != old { return "\(id) was told as \(old), and is \(new) behind \(since)" }
        }
        for change in try database.changes(since: since).changes {
            known[change.id] = (change.sequence, change.revisions[0])
        }
        since = last
        for (id, new) in feed where known[id]?.revision != new.revision {
            return "a follower was not told of \(id) at \(new.sequence)"
        }
        return nil
    }
}
