// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON

// `_edge`: how databases are kept in step with a hub.
extension Call {
    /// `GET /_edge`
    func edge() throws -> ListenerResponse {
        guard let edge = site.edge else {
            throw HTTPFailure(404, "not_found", "This listener has no hub.")
        }
        let skip = try query.count("skip") ?? 0
        let limit = try query.count("limit") ?? 100
        let report = edge.report
        let figures = EdgeFigures(site, report)
        var answer: JSONObject = [
            "hub": .string(edge.rules.base), "state": .string(report.reach.rawValue),
            "looked": time(report.looked), "reached": time(report.reached),
            "total_rows": JSONValue(figures.rows.count),
            "offset": JSONValue(min(skip, figures.rows.count)),
            "databases": .array(figures.rows.dropFirst(skip).prefix(limit).map { .object($0) }),
        ]
        for (name, value) in figures.sums { answer[name] = value }
        answer["reason"] = report.reason.map { .string($0) }
        return .json(.object(answer))
    }

    private func time(_ seconds: Int64?) -> JSONValue {
        seconds.map { .string(HTTPDate.iso($0)) } ?? .null
    }
}

/// What an edge tells of its databases.
struct EdgeFigures {
    /// One for each database, by name.
    var rows: [JSONObject] = []
    /// Directions by what they are doing, and documents.
    private var counts: NameMap<Int> = [
        "running": 0, "waiting": 0, "ended": 0, "pending": 0, "refused": 0,
    ]
    /// The longest lag of a direction, in seconds.
    private var lag: Int64 = 0

    init(_ site: Site, _ report: EdgeReport) {
        for (name, entry) in report.entries.sortedByName {
            var row: JSONObject = [
                "name": .string(name), "state": .string(entry.state.rawValue),
            ]
            row["reason"] = entry.reason.map { .string($0) }
            let isOfUsers = name.hasSameBytes(as: SystemDatabase.users.rawValue)
            for direction in EdgeDocument.Direction.allCases
            where entry.state == .followed && (direction == .pull || !isOfUsers) {
                let progress = EdgeProgress(
                    site.replicator.job(EdgeDocument(direction, name).id),
                    waiting: direction == .push ? report.waiting[name] ?? 0 : 0)
                row[direction.rawValue] = progress.json
                add(progress)
            }
            rows.append(row)
        }
    }

    private mutating func add(_ progress: EdgeProgress) {
        let kind = ["running", "waiting"].contains(progress.state) ? progress.state : "ended"
        counts[kind, default: 0] += 1
        counts["pending", default: 0] = (counts["pending"] ?? 0).addingSaturated(progress.pending)
        counts["refused", default: 0] = (counts["refused"] ?? 0).addingSaturated(progress.refused)
        lag = max(lag, progress.lag ?? 0)
    }

    /// The sums over all directions.
    var sums: JSONObject {
        var sums: JSONObject = ["lag": .integer(lag)]
        for (name, count) in counts { sums[name] = JSONValue(count) }
        return sums
    }
}
