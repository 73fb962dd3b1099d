// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON
internal import DivanModel
internal import DivanReplication

// `_scheduler`: what became of the documents of `_replicator`.
extension Call {
    /// `GET /_scheduler/docs`, `/_scheduler/docs/_replicator`
    func schedulerDocuments() throws -> ListenerResponse {
        let path = target.components
        guard path.count < 3 || path[2] == SystemDatabase.replicator.rawValue else {
            throw HTTPFailure.missing
        }
        // Another process may have made the database since.
        site.replicator.follow(site)
        let wanted = try wantedStates()
        let documents = site.replicator.jobs.map { describe($0.id.text, $0.job) }
            .filter { wanted?.contains($0["state"]?.string ?? "") ?? true }
        return try page("docs", documents)
    }

    /// The states that `states` names, as a list in JSON or with commas; nil for all.
    ///
    /// - Throws: `HTTPFailure` 400 for a state that there is not.
    private func wantedStates() throws -> NameSet? {
        guard let text = query["states"] else { return nil }
        let list =
            (try? JSONParser.parse(text))?.array?.map(\.string)
            ?? text.split(separator: ",").map { String($0) }
        let known: NameSet = [
            "initializing", "error", "pending", "running", "crashing", "completed", "failed",
        ]
        var wanted = NameSet()
        for name in list {
            guard let name, known.contains(name) else {
                throw HTTPFailure.queryParse(
                    "`states` must list some of \(known.sorted().joined(separator: ", ")).")
            }
            wanted.insert(name)
        }
        return wanted
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
        return .json(describe(found.id.text, found.job))
    }

    /// `GET /_scheduler/jobs`
    func schedulerJobs() throws -> ListenerResponse { try page("jobs", jobs) }

    /// `GET /_scheduler/jobs/{id}`
    func schedulerJob() throws -> ListenerResponse {
        let id = target.components.last ?? ""
        guard let job = jobs.first(where: { $0["id"]?.string.hasSameBytes(as: id) ?? false })
        else { throw HTTPFailure.missing }
        return .json(job)
    }

    /// Replications that run, and those that were not started.
    private var jobs: [JSONValue] {
        let paused = site.replicator.jobs.filter(\.job.isPaused).map {
            pausedJob($0.id.text, $0.job)
        }
        return site.replications.jobs + paused
    }

    private func page(_ name: String, _ all: [JSONValue]) throws -> ListenerResponse {
        let skip = try query.count("skip") ?? 0
        let limit = try query.count("limit") ?? 100
        return .json([
            "total_rows": JSONValue(all.count), "offset": JSONValue(min(skip, all.count)),
            .init(name): .array(Array(all.dropFirst(skip).prefix(limit))),
        ])
    }

    /// The entry of a replication that was not started, because the process has died of such starts.
    private func pausedJob(_ id: String, _ job: ReplicatorDatabase.Job) -> JSONValue {
        let time = JSONValue.string(HTTPDate.iso(job.started))
        return [
            "database": .string(SystemDatabase.replicator.rawValue), "doc_id": .string(id),
            "id": nil, "pid": nil,
            "node": site.node, "user": nil, "source": .string(job.source),
            "target": .string(job.target), "info": ["error": .string(job.reason ?? "")],
            "start_time": time,
            "history": [
                ["type": "crashed", "timestamp": time, "reason": .string(job.reason ?? "")]
            ],
        ]
    }

    private func describe(_ id: String, _ job: ReplicatorDatabase.Job) -> JSONValue {
        let crashes = job.running?.crashes
        var info = job.running?.progress ?? job.statistics ?? [:]
        if let reason = job.reason ?? crashes?.reason { info["error"] = .string(reason) }
        // What has failed for good counts once, and what the process has died of, as often as that.
        let errors = crashes?.count ?? (job.isPaused ? job.deaths : job.reason == nil ? 0 : 1)
        return [
            "database": .string(SystemDatabase.replicator.rawValue), "doc_id": .string(id),
            "id": job.running.map { .string($0.id) } ?? .null, "node": site.node,
            "source": .string(job.source), "target": .string(job.target),
            "source_proxy": nil, "target_proxy": nil,
            "state": .string(crashes?.reason == nil ? job.state : "crashing"),
            "info": .object(info),
            "error_count": JSONValue(errors),
            "start_time": .string(HTTPDate.iso(job.started)),
            "last_updated": .string(HTTPDate.iso(job.updated)),
        ]
    }
}
