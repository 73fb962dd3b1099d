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
/// session the replication begins at the beginning.
///
/// ## Invariants
///
/// They speak of both databases: `SimulationTests` show the first, `CheckpointTests` the others. Of the entries
/// `checkInvariants()` tests that they are no more than are kept.
///
/// 1. A checkpoint is written only when every revision up to its sequence is safe in the target.
/// 2. It is written to the local database first, and synced, then to the remote one.
/// 3. An entry also names the local database's *incarnation*, which is another one after a restore or
///    a copy. An entry of another life counts for nothing: its sequences may have been used twice.
package struct Checkpoint: Sendable, Equatable {
    /// How many entries are kept.
    package static let historyLimit = 50
    /// How many entries of one run are kept: enough for any order of crashes within it.
    static let entriesPerRun = 5

    /// One saving.
    package struct Entry: Sendable, Equatable {
        /// The session: a new one each time.
        @ByBytes package var sessionID: String
        /// The run of the replication that saved it.
        @ByBytes package var runID: String
        /// How far everything was safe.
        package var sequence: RemoteSequence
        /// The life of the local database.
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

    /// Makes a checkpoint of a replication that has never been saved.
    package init() { history = [] }

    /// The same checkpoint with one more saving on top.
    package func adding(_ entry: Entry) -> Checkpoint {
        var checkpoint = self
        checkpoint.history.insert(entry, at: 0)
        var ofThisRun = 0
        checkpoint.history.removeAll { old in
            guard old.runID.hasSameBytes(as: entry.runID) else { return false }
            ofThisRun += 1
            return ofThisRun > Self.entriesPerRun
        }
        if checkpoint.history.count > Self.historyLimit {
            checkpoint.history.removeLast(checkpoint.history.count - Self.historyLimit)
        }
        return checkpoint
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
    ///   - incarnation: The local database's present life.
    ///   - lastSequence: The local database's last sequence when it is the source; nil when it is not.
    /// - Returns: nil for the beginning.
    package static func common(
        local: Checkpoint?, remote: Checkpoint?, incarnation: String,
        lastSequence: SequenceNumber? = nil
    ) -> RemoteSequence? {
        commonEntry(
            local: local, remote: remote, incarnation: incarnation, lastSequence: lastSequence)?
            .sequence
    }

    /// The newest saving that both ends know; see `common(local:remote:incarnation:lastSequence:)`.
    static func commonEntry(
        local: Checkpoint?, remote: Checkpoint?, incarnation: String, lastSequence: SequenceNumber?
    ) -> Entry? {
        guard let local, let remote else { return nil }
        // The newest of a session counts, which comes first.
        let sessions = NameMap(remote.history.reversed().map { ($0.sessionID, $0.sequence) })
        for entry in local.history where entry.incarnation.hasSameBytes(as: incarnation) {
            guard let sequence = sessions[entry.sessionID], sequence == entry.sequence else {
                continue
            }
            // A sequence that was never given out is no place in this feed.
            if let lastSequence, (sequence.number ?? .max) > lastSequence { continue }
            return entry
        }
        return nil
    }

    /// The newest saving in a life of the local database.
    func newest(in incarnation: String) -> Entry? {
        history.first { $0.incarnation.hasSameBytes(as: incarnation) }
    }
}
