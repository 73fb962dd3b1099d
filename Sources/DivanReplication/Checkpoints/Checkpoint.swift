// SPDX-License-Identifier: Apache-2.0

package import DivanJSON
package import DivanModel

/// How far a replication has come, as both databases note it: the local document `_local/<ID>`.
///
///     {"session_id": "9f…", "source_last_seq": 120, "replication_id_version": 4,
///      "history": [{"session_id": "9f…", "recorded_seq": 120, "docs_written": 7, …},   newest first, up to 50
///                  {"session_id": "07…", "recorded_seq": 80, "docs_written": 5, …}],
///      "lastSequence": "120"}                                            for Couchbase Lite 1.4
///
/// Each time it is saved, an entry with a new random session goes on top, in both databases. A session
/// that both have is a moment at which both had everything up to its sequence:
///
///     local     s3@120   s2@80   s1@40
///     remote             s2@80   s1@40        the newest common session: go on after 80
///
/// So whatever one side has lost, by a restored backup, a crash between the two writes, or another
/// copy of the database pushing in between, what both still know is true, and without a common
/// session the replication begins at the beginning. A restored or copied database gives sequences out
/// anew that the other life has given out, too; but the sessions that it has are of the time before.
///
/// Of one run the newest entries are kept, and of the older ones fewer the older they are, so that a backup of some time ago
/// has one of about as long before that in common with a run that went on ever since.
///
/// ## Invariants
///
/// They speak of both databases: `SimulationTests` show the first, `CheckpointTests` the others. Of the entries
/// `checkInvariants()` tests that they are no more than are kept.
///
/// 1. A checkpoint is written only when every revision up to its sequence is safe in the target.
/// 2. It is written to the local database first, and synced, then to the remote one.
/// 3. Each saving has a session of its own, and the local document is part of the local database. So a session that stands
///    there was saved when the database was what it is up to that sequence, in whatever life.
package struct Checkpoint: Sendable, Equatable {
    /// How many entries are kept.
    package static let historyLimit = 50
    /// How many of the newest entries of one run are kept: enough for any order of crashes within it.
    static let newestOfRun = 5
    /// How many of one run are kept at most.
    static let entriesPerRun = 35

    /// One saving.
    package struct Entry: Sendable, Equatable {
        /// The session: a new one each time.
        @ByBytes package var sessionID: String
        /// The run of the replication that saved it.
        @ByBytes package var runID: String
        /// How far everything was safe.
        package var sequence: RemoteSequence
        /// The life of the local database; for people.
        @ByBytes package var incarnation: String
        /// Milliseconds since 1970, of which the document keeps the seconds; for people.
        package var time: Int64
        /// What the run had done by then; nil where it is not known. Earlier versions noted none.
        package var account: Account?

        /// Makes an entry.
        package init(
            sessionID: String, runID: String, sequence: RemoteSequence, incarnation: String,
            time: Int64, account: Account? = nil
        ) {
            self.account = account
            self.sessionID = sessionID
            self.runID = runID
            self.sequence = sequence
            self.incarnation = incarnation
            self.time = time
        }

        /// Whether it stands for more than another one, which may be missing. Where the places cannot be compared,
        /// the later one does.
        func isFurther(than other: Entry?) -> Bool {
            guard let other else { return true }
            guard let mine = sequence.estimate, let theirs = other.sequence.estimate else {
                return time > other.time
            }
            return mine > theirs
        }
    }

    /// What a run had done when it saved; for people.
    package struct Account: Sendable, Equatable {
        /// When the run began, in milliseconds since 1970.
        package var began: Int64
        /// Where in the feed it began; nil for the beginning.
        package var start: RemoteSequence?
        /// What was counted up to the saving.
        package var counts: RevisionCounts

        /// Makes an account.
        package init(began: Int64, start: RemoteSequence?, counts: RevisionCounts) {
            self.began = began
            self.start = start
            self.counts = counts
        }
    }

    /// The entries, newest first.
    package internal(set) var history: [Entry]
    /// The revisions that it passes for now; the local database alone keeps them.
    var postponed: [PostponedRevisions.Key] = []
    /// Whether it is known in whose name it was saved, if in any: that of earlier versions may be any user's.
    var isOfKnownUser = false

    /// Makes a checkpoint of a replication that has never been saved.
    package init() { history = [] }

    /// What the other end keeps of it.
    var shared: Checkpoint {
        var shared = Checkpoint()
        shared.history = history
        return shared
    }

    /// The same checkpoint with one more saving on top.
    package func adding(_ entry: Entry) -> Checkpoint {
        var checkpoint = self
        checkpoint.isOfKnownUser = true
        checkpoint.history.insert(entry, at: 0)
        checkpoint.thin(runID: entry.runID, at: entry.time)
        if checkpoint.history.count > Self.historyLimit {
            checkpoint.history.removeLast(checkpoint.history.count - Self.historyLimit)
        }
        return checkpoint
    }

    /// Keeps of a run's older entries only such that are about thrice as old as the next but one newer, and its first one.
    private mutating func thin(runID: String, at now: Int64) {
        let places = history.indices.filter { history[$0].runID.hasSameBytes(as: runID) }
        func age(_ place: Int) -> Int64 { max(0, now.subtractingSaturated(history[place].time)) }
        var surplus: Set<Int> = []
        var newer = places.first ?? 0
        for (number, place) in places.enumerated() {
            let isOfNewest = number < Self.newestOfRun
            let isFirst = number == places.count - 1
            let older = isFirst ? place : places[number + 1]
            // Its older neighbour alone is near enough to the newer one.
            if !isOfNewest, !isFirst, age(older) / 3 <= age(newer) {
                surplus.insert(place)
            } else {
                newer = place
            }
        }
        let rest = places.filter { !surplus.contains($0) }
        surplus.formUnion(rest.dropFirst(Self.entriesPerRun - 1).dropLast())
        history = history.indices.filter { !surplus.contains($0) }.map { history[$0] }
    }

    /// The same entries, and those that another database with this checkpoint has saved.
    func joined(by other: Checkpoint) -> Checkpoint {
        var joined = self
        let runs = NameSet(history.map(\.runID))
        joined.history += other.history.filter { !runs.contains($0.runID) && !knows($0.sessionID) }
        joined.history = Array(joined.history.prefix(Self.historyLimit))
        return joined
    }

    /// The entries up to one of them.
    func upTo(_ entry: Entry) -> Checkpoint {
        var rest = self
        rest.history = Array(history.drop { !$0.sessionID.hasSameBytes(as: entry.sessionID) })
        return rest
    }

    /// Whether a session is among its entries.
    func knows(_ sessionID: String) -> Bool {
        history.contains { $0.sessionID.hasSameBytes(as: sessionID) }
    }

    /// Stops the program where more entries are kept than may be, of a checkpoint that Divan has made; for tests.
    package func checkInvariants() {
        precondition(history.count <= Self.historyLimit, "entries")
        for entry in history {
            let ofItsRun = history.filter { $0.runID.hasSameBytes(as: entry.runID) }
            precondition(ofItsRun.count <= Self.entriesPerRun, "entries of a run")
        }
    }

    /// Where a replication goes on: after the newest saving that both ends know.
    ///
    /// - Parameters:
    ///   - local: The local database's checkpoint.
    ///   - remote: The other end's.
    ///   - lastSequence: The local database's last sequence when it is the source; nil when it is not.
    /// - Returns: nil for the beginning.
    package static func common(
        local: Checkpoint?, remote: Checkpoint?, lastSequence: SequenceNumber? = nil
    ) -> RemoteSequence? {
        commonEntry(local: local, remote: remote, lastSequence: lastSequence)?.sequence
    }

    /// The newest saving that both ends know; see `common(local:remote:lastSequence:)`.
    static func commonEntry(
        local: Checkpoint?, remote: Checkpoint?, lastSequence: SequenceNumber?
    ) -> Entry? {
        guard let local, let remote else { return nil }
        // The newest of a session counts, which comes first.
        let sessions = NameMap(remote.history.reversed().map { ($0.sessionID, $0.sequence) })
        for entry in local.history {
            guard let sequence = sessions[entry.sessionID], sequence == entry.sequence else {
                continue
            }
            // A sequence that was never given out is no place in this feed.
            if let lastSequence, (sequence.number ?? .max) > lastSequence { continue }
            return entry
        }
        return nil
    }
}
