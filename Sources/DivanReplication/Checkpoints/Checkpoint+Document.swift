// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
package import DivanJSON
internal import DivanModel

// As a document, which has the fields of CouchDB's. `run`, `incarnation`, `user_known` and `postponed` are Divan's own, and
// `lastSequence` is what Couchbase Lite reads.
extension Checkpoint {
    /// Reads a checkpoint; entries that make no sense are passed over.
    ///
    /// Couchbase Lite 1.4 keeps one sequence and no sessions. Where both ends name the same one, it is
    /// a moment at which both had everything up to it, so it reads as a session of its own.
    package init(_ document: JSONObject) {
        self.init()
        isOfKnownUser = document["user_known"]?.bool ?? false
        postponed = (document["postponed"]?.array ?? []).compactMap(PostponedRevisions.Key.init)
        guard case .array(let entries)? = document["history"] else {
            guard let text = document["lastSequence"]?.string,
                let sequence = RemoteSequence(.string(text))
            else { return }
            let session = "lastSequence \(text)"
            history.append(
                Entry(
                    sessionID: session, runID: session, sequence: sequence,
                    incarnation: document["incarnation"]?.string ?? "", time: 0))
            return
        }
        history = entries.prefix(Self.historyLimit).compactMap(Entry.init)
    }

    /// The document.
    package var document: JSONObject {
        guard let newest = history.first else { return [:] }
        let entries = history.map { entry -> JSONValue in
            var object = entry.object
            object["run"] = .string(entry.runID)
            object["incarnation"] = .string(entry.incarnation)
            return .object(object)
        }
        var document: JSONObject = [
            "session_id": .string(newest.sessionID), "source_last_seq": newest.sequence.value,
            "replication_id_version": 4, "history": .array(entries),
            "lastSequence": .string(newest.sequence.text),
        ]
        if isOfKnownUser { document["user_known"] = true }
        if !postponed.isEmpty { document["postponed"] = .array(postponed.map(\.value)) }
        return document
    }

    /// The newest entry of each run, newest first: what CouchDB would have in its place, which notes each run once.
    var runs: [JSONObject] {
        var seen: NameSet = []
        return history.filter { seen.insert($0.runID).inserted }.map(\.object)
    }
}

extension Checkpoint.Entry {
    init?(_ entry: JSONValue) {
        guard let session = entry["session_id"]?.string,
            let sequence = RemoteSequence(entry["recorded_seq"])
        else { return nil }
        self.init(
            sessionID: session, runID: entry["run"]?.string ?? session, sequence: sequence,
            incarnation: entry["incarnation"]?.string ?? "",
            time: Checkpoint.milliseconds(entry["end_time"]) ?? 0,
            account: Checkpoint.Account(entry))
    }

    /// What CouchDB has of it.
    var object: JSONObject {
        var object: JSONObject = [
            "session_id": .string(sessionID), "end_time": Checkpoint.date(time),
            "end_last_seq": sequence.value, "recorded_seq": sequence.value,
        ]
        guard let account else { return object }
        object["start_time"] = Checkpoint.date(account.began)
        object["start_last_seq"] = account.start?.value ?? 0
        for (name, count) in RevisionCounts.noted {
            object[name] = JSONValue(account.counts[keyPath: count])
        }
        return object
    }
}

extension PostponedRevisions.Key {
    /// Reads an item of the list: the document's ID and the revision's.
    fileprivate init?(_ value: JSONValue) {
        guard let id = value[0]?.string.flatMap({ try? DocumentID(validating: $0) }),
            let revision = value[1]?.string.flatMap({ try? RevisionID(validating: $0) })
        else { return nil }
        self.init(id, revision)
    }

    fileprivate var value: JSONValue {
        .array([.string(id.text), .string(revision.description)])
    }
}

extension Checkpoint.Account {
    /// Of an entry that tells when its run began.
    fileprivate init?(_ entry: JSONValue) {
        guard let began = Checkpoint.milliseconds(entry["start_time"]) else { return nil }
        let start = RemoteSequence(entry["start_last_seq"])
        var counts = RevisionCounts()
        for (name, count) in RevisionCounts.noted {
            counts[keyPath: count] = ForeignCount.bounded(Int(clamping: entry[name]?.int64 ?? 0))
        }
        self.init(began: began, start: start == .zero ? nil : start, counts: counts)
    }
}

extension RevisionCounts {
    /// What the entries of a history call them.
    fileprivate static var noted: [(String, WritableKeyPath<RevisionCounts, Int>)] {
        [
            ("missing_checked", \.checked), ("missing_found", \.found), ("docs_read", \.read),
            ("docs_written", \.written), ("doc_write_failures", \.failed),
        ]
    }
}

extension Checkpoint {
    fileprivate static func date(_ milliseconds: Int64) -> JSONValue {
        .string(HTTPDate.text(milliseconds / 1_000))
    }

    /// A date; earlier versions wrote a number of milliseconds.
    fileprivate static func milliseconds(_ value: JSONValue?) -> Int64? {
        value?.int64
            ?? value?.string.flatMap { HTTPDate.seconds($0) }.map {
                $0.multipliedSaturated(by: 1_000)
            }
    }
}
