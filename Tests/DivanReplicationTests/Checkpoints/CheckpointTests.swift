// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanReplication
import Testing

struct CheckpointTests {
    private func entry(
        _ session: String, _ sequence: UInt64, run: String? = nil, life: String = "L"
    )
        -> Checkpoint.Entry
    {
        Checkpoint.Entry(
            sessionID: session, runID: run ?? session, sequence: RemoteSequence(sequence),
            incarnation: life, time: 0)
    }

    private func checkpoint(_ entries: Checkpoint.Entry...) -> Checkpoint {
        entries.reversed().reduce(Checkpoint()) { $0.adding($1) }
    }

    private func common(
        _ local: Checkpoint?, _ remote: Checkpoint?, last: UInt64? = nil
    ) -> UInt64? {
        Checkpoint.common(local: local, remote: remote, lastSequence: last)?.number
    }

    @Test func `a replication goes on after the newest session that both sides know`() {
        let old = checkpoint(entry("s2", 80), entry("s1", 40))
        let new = checkpoint(entry("s3", 120), entry("s2", 80), entry("s1", 40))
        #expect(common(new, old) == 80)
        #expect(common(old, new) == 80)
        #expect(common(new, new) == 120)
    }

    @Test func `without a common session it begins at the beginning`() {
        let mine = checkpoint(entry("a", 5))
        #expect(common(mine, checkpoint(entry("b", 5))) == nil)
        #expect(common(mine, nil) == nil)
        #expect(common(nil, mine) == nil)
    }

    @Test func `a session of another life counts where both sides have it, and no other one`() {
        let before = checkpoint(entry("s1", 40, life: "old"))
        let lost = before.adding(entry("s2", 80, life: "old"))
        let restored = before.adding(entry("s3", 80, life: "new"))
        #expect(common(before, lost) == 40)
        #expect(common(restored, lost) == 40)
    }

    @Test func `of a long run a backup has an entry in common that is not much older than itself`()
    {
        var states: [Checkpoint] = []
        var checkpoint = Checkpoint()
        // Two weeks of savings every five seconds would be more; the ages grow tenfold here.
        let count = 20_000
        for n in 0..<count {
            checkpoint = checkpoint.adding(
                Checkpoint.Entry(
                    sessionID: "s\(n)", runID: "one", sequence: RemoteSequence(UInt64(n + 1)),
                    incarnation: "L", time: Int64(n) * 60_000))
            checkpoint.checkInvariants()
            #expect(checkpoint.history.last?.sessionID == "s0")
            states.append(checkpoint)
        }
        #expect(checkpoint.history.count > 15)
        for backup in stride(from: 0, to: count, by: 371) {
            let place = Int(common(states[backup], checkpoint) ?? 0)
            let age = count - backup
            #expect(place >= backup - 2 * age - 10, "\(backup): \(place)")
        }
        // A clock that stands, or goes back, changes nothing but what is kept.
        for time in [0, -5, 3, Int64.max, Int64.min] {
            for n in 0..<200 {
                checkpoint = checkpoint.adding(
                    Checkpoint.Entry(
                        sessionID: "t\(time) \(n)", runID: "two",
                        sequence: RemoteSequence(UInt64(n)),
                        incarnation: "L", time: time))
                checkpoint.checkInvariants()
            }
        }
    }

    @Test func `a sequence above the source's last one counts for nothing`() {
        let mine = checkpoint(entry("s2", 80), entry("s1", 40))
        #expect(common(mine, mine, last: 50) == 40)
    }

    @Test func `a session whose sequences differ is no common one`() {
        #expect(common(checkpoint(entry("s", 80)), checkpoint(entry("s", 90))) == nil)
    }

    @Test func `at most 50 entries are kept, and few of one run`() {
        var checkpoint = Checkpoint()
        for n in 0..<100 {
            checkpoint = checkpoint.adding(entry("s\(n)", UInt64(n), run: "one"))
            checkpoint.checkInvariants()
        }
        #expect(checkpoint.history.count == 6)
        for n in 0..<100 {
            checkpoint = checkpoint.adding(entry("t\(n)", UInt64(n)))
            checkpoint.checkInvariants()
        }
        #expect(checkpoint.history.count == 50)
        #expect(checkpoint.history.first?.sessionID == "t99")
    }

    private func account(began: Int64, _ count: Int) -> Checkpoint.Account {
        var counts = RevisionCounts()
        (counts.checked, counts.found, counts.read) = (count, count, count)
        (counts.written, counts.failed) = (count, count)
        return Checkpoint.Account(began: began, start: RemoteSequence(80 as UInt64), counts: counts)
    }

    @Test func `an entry that an earlier version wrote counts, and keeps its time`() {
        let old: JSONObject = [
            "history": [
                [
                    "session_id": "s1", "recorded_seq": 40, "end_last_seq": 40, "run": "r",
                    "end_time": 1_795_557_787_582, "incarnation": "L",
                ]
            ]
        ]
        let entry = Checkpoint(old).history.first
        #expect(entry?.time == 1_795_557_787_582 && entry?.account == nil)
        #expect(common(Checkpoint(old), checkpoint(self.entry("s1", 40))) == 40)
        let written = Checkpoint(old).document["history"]?[0]
        #expect(written?["end_time"] == "Tue, 24 Nov 2026 22:03:07 GMT")
        #expect(written?["start_time"] == nil && written?["docs_written"] == nil)
    }

    @Test(arguments: [JSONValue.integer(.max), .integer(.min), "7", .null, .double(1e300)])
    func `counts and times of an entry that make no sense do no harm`(number: JSONValue) {
        var entry: JSONObject = ["session_id": "s1", "recorded_seq": 40, "start_last_seq": number]
        for name in ["missing_checked", "missing_found", "docs_read", "start_time", "end_time"] {
            entry[name] = number
        }
        let read = Checkpoint(["history": [.object(entry)]])
        #expect(read.history.count == 1)
        #expect(read.adding(self.entry("s2", 80)).document["history"]?.array?.count == 2)
        let counts = (0..<500).reduce(RevisionCounts()) { sum, _ in
            sum + (read.history[0].account?.counts ?? RevisionCounts())
        }
        #expect(counts.checked >= 0)
    }

    @Test func `as a document it has CouchDB's form and is read back`() throws {
        let checkpoint = checkpoint(entry("s2", 80), entry("s1", 40))
        let document = checkpoint.document
        #expect(document["session_id"] == "s2")
        #expect(document["source_last_seq"] == 80)
        #expect(document["replication_id_version"] == 4)
        #expect(document["lastSequence"] == "80")
        #expect(document["history"]?[1]?["recorded_seq"] == 40)
        // Text of a time is in seconds.
        var entry = entry("s3", 120)
        (entry.time, entry.account) = (1_795_557_787_000, account(began: 1_795_557_780_000, 7))
        let told = checkpoint.adding(entry)
        #expect(
            told.document["history"]?[0] == [
                "session_id": "s3", "run": "s3", "incarnation": "L",
                "start_time": "Tue, 24 Nov 2026 22:03:00 GMT",
                "end_time": "Tue, 24 Nov 2026 22:03:07 GMT", "start_last_seq": 80,
                "end_last_seq": 120, "recorded_seq": 120, "missing_checked": 7, "missing_found": 7,
                "docs_read": 7, "docs_written": 7, "doc_write_failures": 7,
            ])
        #expect(Checkpoint(told.document) == told)
        #expect(Checkpoint(document) == checkpoint)
    }

    @Test func `entries that make no sense are passed over`() {
        let document: JSONObject = [
            "history": [1, ["session_id": 7], ["session_id": "s", "recorded_seq": "7-g1AAA"]]
        ]
        #expect(Checkpoint(document).history.map(\.sequence.text) == ["7-g1AAA"])
        #expect(Checkpoint(["history": "none"]).history.isEmpty)
    }

    @Test func `a checkpoint of version 1.4 counts where both ends name the same sequence`() {
        let mine = Checkpoint(["lastSequence": "120", "incarnation": "L"])
        #expect(common(mine, Checkpoint(["lastSequence": "120"])) == 120)
        #expect(common(mine, Checkpoint(["lastSequence": "119"])) == nil)
        #expect(common(mine, Checkpoint(["lastSequence": "120"]), last: 100) == nil)
        #expect(Checkpoint(["lastSequence": 120]).history.isEmpty)
    }

    @Test func `a sequence is text as it stands, and anything else is JSON`() {
        #expect(RemoteSequence("7-g1AAA")?.text == "7-g1AAA")
        #expect(RemoteSequence(42)?.text == "42")
        #expect(RemoteSequence("42")?.number == 42)
        #expect(RemoteSequence([1, "x"])?.text == #"[1,"x"]"#)
        #expect(RemoteSequence(.null) == nil)
    }

    @Test
    func `a replication's ID is the SHA-1 of its settings in sorted JSON, as version 1.4 made it`()
    {
        var settings = ReplicationID.Settings(
            localUUID: "78533d28-4997-408e-9cd7-fad6e011bf01", remoteURL: "http://host/db",
            isPush: false)
        // Each was computed apart from this program, from the text in the comment.
        // {"continuous":false,"localUUID":"78…","push":false,"remoteURL":"http://host/db"}
        #expect(ReplicationID(settings).text == "36c1adaf319ac558207a3e67b26018b87ad79362")
        settings.filter = "byOwner"
        settings.filterParameters = ["name": "Waldo", "a": 1]
        settings.documentIDs = ["b", "a"]
        // {…,"docids":["a","b"],"filter":"byOwner","filterParams":{"a":1,"name":"Waldo"},…}
        #expect(ReplicationID(settings).text == "7aca203235c93927a1de6fdec25474816f72a330")
        settings.remoteUUID = "some-uuid"
        // "remoteUUID":"some-uuid" in place of "remoteURL"
        #expect(ReplicationID(settings).text == "9b377ea8c7624c349531b0ecaf5394d46eff2108")
    }
}
