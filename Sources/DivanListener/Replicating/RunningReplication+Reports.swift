// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON
internal import DivanModel
internal import DivanReplication

// What clients are told of a replication, in CouchDB's words.
extension RunningReplication {
    /// What `_replicate` answers at the end, from the runs that the checkpoint tells of, newest first.
    func answer(_ history: [JSONObject], _ sessionBefore: String?) -> JSONObject {
        var answer: JSONObject = ["ok": true]
        let newest = history.first
        // Nor is there a change where no document of the feed takes part.
        if (newest?["session_id"]?.string).hasSameBytes(as: sessionBefore)
            || newest?["missing_checked"] == 0
        {
            answer["no_changes"] = true
        }
        guard let newest else { return answer }
        answer["session_id"] = newest["session_id"]
        answer["source_last_seq"] = shown(newest["recorded_seq"])
        answer["replication_id_version"] = 4
        answer["history"] = .array(history.map { .object(shown($0)) })
        // As its first versions answered, and clients still ask.
        if !request.settings.documentIDs.isEmpty {
            for name in [
                "start_time", "end_time", "docs_read", "docs_written", "doc_write_failures",
            ] { answer[name] = newest[name] }
        }
        for (name, value) in refusals { answer[name] = value }
        return answer
    }

    /// How many documents were refused, and why, of at most a hundred; nothing where none was. CouchDB counts them in the
    /// history, and names none.
    var refusals: JSONObject {
        let summary = replication.summary
        guard !summary.documentErrors.isEmpty else { return [:] }
        return [
            "doc_write_failures": count(summary.refused),
            "doc_write_errors": .array(
                summary.documentErrors.map { error in
                    [
                        "id": .string(error.documentID?.text ?? ""),
                        "error": .string(Self.name(of: error)),
                        "reason": .string(ErrorResponse.reason(for: error)),
                    ]
                }),
        ]
    }

    /// CouchDB's name for what is wrong with a document.
    private static func name(of error: ReplicationError) -> String {
        switch error.code {
        case .forbidden: "forbidden"
        case .unauthorized: "unauthorized"
        case .notFound: "not_found"
        default: "replication_error"
        }
    }

    /// What it has done so far.
    var statistics: JSONObject {
        let report = replication.report
        return [
            "revisions_checked": count(report.counts.checked),
            "missing_revisions_found": count(report.counts.found),
            "docs_read": count(report.counts.read), "docs_written": count(report.counts.written),
            "doc_write_failures": count(report.counts.failed),
            "changes_pending": count(replication.status.unfinished),
            "checkpointed_source_seq": sequence(report.checkpointed),
        ]
    }

    /// The same while it runs, with how far it is.
    var progress: JSONObject {
        let report = replication.report
        var progress = statistics
        progress["source_seq"] = sequence(report.read)
        progress["through_seq"] = sequence(report.safe)
        return progress
    }

    private func count(_ count: Int) -> JSONValue { JSONValue(count) }

    /// A place in the source's feed.
    private func sequence(_ sequence: RemoteSequence?) -> JSONValue {
        shown(sequence?.value) ?? sequences?.value(0) ?? "0"
    }

    private func shown(_ sequence: JSONValue?) -> JSONValue? {
        guard let sequences, let number = sequence?.uint64 else { return sequence }
        return sequences.value(number)
    }

    /// An entry of a checkpoint's history, which counts where the source is here.
    private func shown(_ entry: JSONObject) -> JSONObject {
        var entry = entry
        for name in ["recorded_seq", "start_last_seq", "end_last_seq"] {
            // The beginning is the number in CouchDB, too.
            if name == "start_last_seq", entry[name] == 0 { continue }
            entry[name] = shown(entry[name])
        }
        return entry
    }

    /// Its entry in `_scheduler/jobs`.
    var job: JSONValue {
        [
            "database": documentID.map { _ in .string(SystemDatabase.replicator.rawValue) }
                ?? .null,
            "doc_id": documentID.map { .string($0.text) } ?? .null, "id": .string(id),
            "pid": .string("<0.\(number).0>"), "node": node,
            "user": user.map { .string($0) } ?? .null, "source": .string(request.source.label),
            "target": .string(request.target.label), "info": .object(progress),
            "start_time": .string(HTTPDate.iso(started)), "history": .array(history),
        ]
    }

    /// Its entry in `_active_tasks`.
    var task: JSONValue {
        var task: JSONObject = [
            "pid": .string("<0.\(number).0>"), "type": "replication", "replication_id": .string(id),
            "node": node, "doc_id": documentID.map { .string($0.text) } ?? .null,
            "database": documentID.map { _ in .string(SystemDatabase.replicator.rawValue) }
                ?? .null,
            "user": user.map { .string($0) } ?? .null,
            "source": .string(request.source.label), "target": .string(request.target.label),
            "continuous": .bool(request.settings.isContinuous),
            "process_status": .string(crashes.reason == nil ? "running" : "waiting"),
            "checkpoint_interval": .integer(milliseconds(request.settings.checkpointInterval)),
            "started_on": .integer(started), "updated_on": .integer(AccountsFile.now),
        ]
        for (name, value) in progress { task[name] = value }
        return .object(task)
    }

    private func milliseconds(_ duration: Duration) -> Int64 {
        duration.components.seconds.multipliedSaturated(by: 1_000)
            .addingSaturated(duration.components.attoseconds / 1_000_000_000_000_000)
    }
}
