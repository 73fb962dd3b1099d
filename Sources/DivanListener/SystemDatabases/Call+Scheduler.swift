// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON
internal import DivanModel
internal import DivanReplication

// `_scheduler`: what became of the documents of `_replicator`.
extension Call {
    /// `GET /_scheduler/docs`
    func schedulerDocuments() throws -> ListenerResponse {
        // Another process may have made the database since.
        site.replicator.follow(site)
        let documents = site.replicator.jobs.map { Self.describe($0.id.text, $0.job) }
        return try page("docs", documents)
    }

    /// `GET /_scheduler/docs/_replicator/{id}`
    func schedulerDocument() throws -> ListenerResponse {
        guard target.components.count > 3,
            target.components[2] == SystemDatabase.replicator.rawValue
        else { throw HTTPFailure.missing }
        let id = target.components.dropFirst(3).joined(separator: "/")
        guard let found = site.replicator.jobs.first(where: { $0.id == DocumentID(id) }) else {
            throw HTTPFailure.missing
        }
        return .json(Self.describe(found.id.text, found.job))
    }

    /// `GET /_scheduler/jobs`
    func schedulerJobs() throws -> ListenerResponse {
        let paused = site.replicator.jobs.filter(\.job.isPaused).map {
            Self.pausedJob($0.id.text, $0.job)
        }
        return try page("jobs", site.replications.jobs + paused)
    }

    private func page(_ name: String, _ all: [JSONValue]) throws -> ListenerResponse {
        let skip = try query.count("skip") ?? 0
        let limit = try query.count("limit") ?? 25
        return .json([
            "total_rows": JSONValue(all.count), "offset": JSONValue(skip),
            .init(name): .array(Array(all.dropFirst(skip).prefix(limit))),
        ])
    }

    /// The entry of a replication that was not started, because the process has died of such starts.
    private static func pausedJob(_ id: String, _ job: ReplicatorDatabase.Job) -> JSONValue {
        let time = JSONValue.string(HTTPDate.iso(job.started))
        return [
            "database": .string(SystemDatabase.replicator.rawValue), "doc_id": .string(id),
            "id": nil, "pid": nil,
            "node": "divan@localhost", "user": nil, "source": .string(job.source),
            "target": .string(job.target), "info": ["error": .string(job.reason ?? "")],
            "start_time": time,
            "history": [
                ["type": "crashed", "timestamp": time, "reason": .string(job.reason ?? "")]
            ],
        ]
    }

    private static func describe(_ id: String, _ job: ReplicatorDatabase.Job) -> JSONValue {
        let isWaiting = job.running?.replication.activity == .offline
        var info = job.running?.progress ?? job.statistics ?? [:]
        let waitsAfter = isWaiting ? job.running?.replication.lastError : nil
        if let reason = job.reason ?? waitsAfter.map(ErrorResponse.reason) {
            info["error"] = .string(reason)
        }
        return [
            "database": .string(SystemDatabase.replicator.rawValue), "doc_id": .string(id),
            "id": job.running.map { .string($0.id) } ?? .null, "node": "divan@localhost",
            "source": .string(job.source), "target": .string(job.target),
            "source_proxy": nil, "target_proxy": nil,
            "state": .string(isWaiting ? "crashing" : job.state), "info": .object(info),
            "error_count": .integer(info["error"] == nil ? 0 : 1),
            "start_time": .string(HTTPDate.iso(job.started)),
            "last_updated": .string(HTTPDate.iso(job.updated)),
        ]
    }
}
