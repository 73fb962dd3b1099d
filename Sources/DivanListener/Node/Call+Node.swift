// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanDesign
internal import DivanHTTP
internal import DivanJSON
internal import DivanSystem

// `_node/{node}`: what CouchDB tells of one machine of its cluster. This listener is one.
extension Site {
    /// The node's name.
    var node: JSONValue { .string(options.nodeName) }
}

extension Call {
    /// Refuses every node but this one.
    ///
    /// - Throws: `HTTPFailure` 404.
    func checkNode() throws {
        guard [site.options.nodeName, "_local"].contains(where: { $0.hasSameBytes(as: name(0)) })
        else {
            throw HTTPFailure.notFound("no such node: \(name(0).prefix(200))")
        }
    }

    /// `GET /_node`
    func incompleteNode() throws -> ListenerResponse {
        throw HTTPFailure.badRequest("Incomplete path to _node request")
    }

    /// `GET /_node/{node}`
    func nodeName() throws -> ListenerResponse {
        try checkNode()
        return .json(["name": site.node])
    }

    /// `GET /_node/{node}/_stats` and what lies below it; null where there is nothing.
    func statistics() throws -> ListenerResponse {
        try checkNode()
        var value: JSONValue? = site.metricTree
        for word in resource.names.dropFirst() { value = value?.object?[word] }
        return .json(value ?? .null)
    }

    /// `GET /_node/{node}/_prometheus`
    func prometheus() throws -> ListenerResponse {
        try checkNode()
        return ListenerResponse(
            status: 200, body: .bytes(Array(PrometheusText(site).text.utf8))
        ).with("Content-Type", "text/plain; version=2.0")
    }

    /// `GET /_node/{node}/_system`: what there is of it without Erlang.
    func system() throws -> ListenerResponse {
        try checkNode()
        let resident = JSONValue(CurrentProcess.residentBytes)
        return .json([
            "uptime": JSONValue(site.statistics.uptime.components.seconds),
            "memory": ["processes": resident, "processes_used": resident],
            "run_queue": 0,
            "os_proc_count": 0,
            "process_count": 1,
            "process_limit": 1,
            "message_queues": [:],
            "internal_replication_jobs": 0,
            "distribution": [:],
        ])
    }

    /// `GET /_node/{node}/_versions`
    func versions() throws -> ListenerResponse {
        try checkNode()
        var versions: JSONObject = [
            "divan": ["version": .string(Manager.version)],
            "collation_driver": ["name": "libicu"],
        ]
        let runtime = site.options.scripts.first { $0.languages.contains("javascript") }
        if let name = runtime?.server.processes.engineName {
            versions["javascript_engine"] = ["name": .string(name)]
        }
        return .json(.object(versions))
    }

    /// `POST /_node/{node}/_restart`
    func restartNode() throws -> ListenerResponse {
        try checkNode()
        throw HTTPFailure.notImplemented(
            "The listener is part of a program; restart that program.")
    }
}
