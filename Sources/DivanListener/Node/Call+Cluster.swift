// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON

// What CouchDB has for clusters, as a single node answers it.
extension Call {
    /// `GET /_membership`
    func membership() throws -> ListenerResponse {
        let nodes: JSONValue = [site.node]
        return .json(["all_nodes": nodes, "cluster_nodes": nodes])
    }

    // MARK: - Setting up

    /// `GET /_cluster_setup`
    func clusterState() throws -> ListenerResponse {
        let names = try query.json("ensure_dbs_exist").map(Self.databases) ?? Self.systemNames
        let isEnabled =
            site.configuration.table["couchdb", "single_node"] == "true"
            || site.hasAdmins && names.allSatisfy(site.manager.databaseExists)
        return .json(["state": isEnabled ? "single_node_enabled" : "single_node_disabled"])
    }

    /// `POST /_cluster_setup`
    func setUpCluster() throws -> ListenerResponse {
        guard let setup = try valueBody().object else {
            throw HTTPFailure.badRequest("Missing JSON body'")
        }
        switch setup["action"]?.string {
        case "enable_single_node": try enableSingleNode(setup)
        case "finish_cluster":
            let names = try Self.databases(setup["ensure_dbs_exist"])
            guard !names.allSatisfy(site.manager.databaseExists) else {
                throw HTTPFailure.badRequest("Cluster is already finished")
            }
            try make(names)
        case "enable_cluster":
            throw HTTPFailure.badRequest(
                "This server is always a single node; use `enable_single_node`.")
        case "add_node", "remove_node", "receive_cookie":
            throw HTTPFailure.badRequest("Cluster is not enabled.")
        default: throw HTTPFailure.badRequest("Invalid Action'")
        }
        return .done(status: 201)
    }

    private static let systemNames = SystemDatabase.allCases.filter { $0 != .globalChanges }
        .map(\.rawValue)

    private func enableSingleNode(_ setup: JSONObject) throws {
        let names = try Self.databases(setup["ensure_dbs_exist"])
        let password = setup["password_hash"] ?? setup["password"]
        if let name = setup["username"], !name.isNull {
            guard let name = name.string, let password = password?.string else {
                throw HTTPFailure.badRequest("`username` and `password` must be strings.")
            }
            guard !site.configuration.isFrozen else { throw Configuration.frozen }
            // One whose password the program gives is there already, and keeps it.
            if !site.accounts.givenNames.contains(where: { $0.hasSameBytes(as: name) }) {
                try site.setAdmin(name, password)
            }
        }
        try make(names)
    }

    /// The databases that a setup is to make.
    private static func databases(_ value: JSONValue?) throws -> [String] {
        guard let value else { return systemNames }
        guard let names = value.array?.compactMap(\.string), names.count == value.array?.count,
            names.count <= 100, names.allSatisfy(Manager.isValidDatabaseName)
        else {
            throw HTTPFailure.badRequest(
                "`ensure_dbs_exist` must be an array of names of databases, 100 at most.")
        }
        return names
    }

    private func make(_ names: [String]) throws {
        for name in names where !site.manager.databaseExists(named: name) {
            try site.create(name)
        }
    }

    // MARK: - Shards

    private static let range = "00000000-ffffffff"

    /// `GET /{db}/_shards`
    func shards() throws -> ListenerResponse {
        .json(["shards": [Self.range: [site.node]]])
    }

    /// `GET /{db}/_shards/{doc}`
    func shardOfDocument() throws -> ListenerResponse {
        .json(["range": .string(Self.range), "nodes": [site.node]])
    }

    /// `POST /{db}/_sync_shards`
    func syncShards() throws -> ListenerResponse { .done(status: 202) }

    /// `GET /_reshard`
    func resharding() throws -> ListenerResponse {
        .json([
            "state": "running", "state_reason": .null, "completed": 0, "failed": 0, "running": 0,
            "stopped": 0, "total": 0,
        ])
    }

    /// `GET /_reshard/state`
    func reshardingState() throws -> ListenerResponse {
        .json(["state": "running", "reason": .null])
    }

    /// `GET /_reshard/jobs`
    func reshardingJobs() throws -> ListenerResponse {
        .json(["total_rows": 0, "offset": 0, "jobs": []])
    }

    /// `POST /_reshard/jobs`, `PUT /_reshard/state`
    func reshard() throws -> ListenerResponse {
        throw HTTPFailure.notImplemented("A database here has one shard, which cannot be split.")
    }

    /// `GET /_reshard/jobs/{id}` and the like: there are no jobs.
    func noJob() throws -> ListenerResponse { throw HTTPFailure.missing }

    /// `POST /_reload_query_servers`: programs of scripts are started for each change of a design document anyway.
    func reloadScripts() throws -> ListenerResponse { .done() }
}

extension Site {
    /// Whether there is an administrator.
    fileprivate var hasAdmins: Bool { guardian.allowsAnonymousAdmin || !accounts.admins.isEmpty }
}
