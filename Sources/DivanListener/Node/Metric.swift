// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanSystem

/// One number that a listener tells of itself, under CouchDB's name where CouchDB has it.
struct Metric: Sendable {
    enum Kind: String, Sendable {
        /// It only grows.
        case counter
        /// It grows and shrinks.
        case gauge
        /// How numbers are distributed.
        case histogram
    }

    /// Where it stands in `_stats`.
    @ByBytes var path: [String]
    var kind: Kind
    var description: String
    var value: JSONValue

    /// The object that stands there.
    var json: JSONValue {
        [
            "value": value, "type": .string(kind.rawValue), "desc": .string(description),
        ]
    }
}

extension Site {
    /// All numbers that the listener tells of itself.
    var metrics: [Metric] {
        let counts = statistics.all
        var metrics: [Metric] = []
        func add(_ kind: Metric.Kind, _ path: [String], _ value: JSONValue, _ what: String) {
            metrics.append(
                Metric(path: ["couchdb"] + path, kind: kind, description: what, value: value))
        }
        for name in ListenerStatistics.routeNames {
            add(
                .counter, ["httpd", name], JSONValue(counts.routes[name] ?? 0),
                "requests of this kind: \(name)")
        }
        add(.counter, ["httpd", "requests"], JSONValue(counts.requests), "HTTP requests")
        for (method, count) in zip(ListenerStatistics.methods, counts.methods) {
            add(
                .counter, ["httpd_request_methods", method], JSONValue(count),
                "HTTP \(method) requests")
        }
        for (status, count) in zip(ListenerStatistics.statuses, counts.statuses) {
            add(
                .counter, ["httpd_status_codes", "\(status)"], JSONValue(count),
                "HTTP \(status) answers")
        }
        add(
            .gauge, ["open_databases"], JSONValue(manager.openedDatabases.count),
            "databases that are open")
        add(
            .gauge, ["open_os_files"], JSONValue(CurrentProcess.descriptorCount),
            "descriptors that the process has open")
        add(
            .counter, ["password_hashing_fast"], JSONValue(counts.fastHashes),
            "passwords that were found among those that were right lately")
        add(
            .counter, ["password_hashing_slow"], JSONValue(counts.slowHashes),
            "passwords that were hashed")
        add(
            .histogram, ["request_time"], Distribution(counts.times).json,
            "milliseconds until the answers to the last thousand requests began")
        metrics.append(
            Metric(
                path: ["couch_replicator", "jobs", "running"], kind: .gauge,
                description: "replications that run", value: JSONValue(replications.list.count)))
        return metrics + edgeMetrics
    }

    /// How it is in step with its hub.
    private var edgeMetrics: [Metric] {
        guard let edge else { return [] }
        let report = edge.report
        let sums = EdgeFigures(self, report).sums
        func metric(_ name: String, _ value: JSONValue, _ what: String) -> Metric {
            Metric(path: ["edge", name], kind: .gauge, description: what, value: value)
        }
        return [
            metric("hub_reached", report.reach == .reached ? 1 : 0, "whether the hub was reached"),
            metric("databases", JSONValue(report.entries.count), "databases kept in step"),
            metric("lag_seconds", sums["lag"] ?? 0, "the longest lag of a database"),
            metric("pending", sums["pending"] ?? 0, "changes that are known to wait"),
            metric("refused", sums["refused"] ?? 0, "documents that the other side refused"),
            metric("replications_waiting", sums["waiting"] ?? 0, "replications that try again"),
            metric("replications_ended", sums["ended"] ?? 0, "replications that do not run"),
        ]
    }

    /// Them as a tree.
    var metricTree: JSONValue {
        func nest(_ metrics: [Metric], _ depth: Int) -> JSONValue {
            var object: JSONObject = [:]
            var rest = metrics[...]
            while let first = rest.first {
                let name = first.path[depth]
                let same = metrics.filter { $0.path[depth].hasSameBytes(as: name) }
                object[name] = first.path.count == depth + 1 ? first.json : nest(same, depth + 1)
                rest = rest.drop { $0.path[depth].hasSameBytes(as: name) }
            }
            return .object(object)
        }
        return nest(metrics, 0)
    }
}
