// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// Numbers as Prometheus reads them, under the names that CouchDB gives them:
///
///     # HELP couchdb_httpd_request_methods HTTP requests by method
///     # TYPE couchdb_httpd_request_methods counter
///     couchdb_httpd_request_methods{method="GET"} 3
struct PrometheusText {
    /// Those that have a label in place of the last word of their name.
    private static let labels: NameMap<(label: String, description: String)> = [
        "httpd_request_methods": ("method", "HTTP requests by method"),
        "httpd_status_codes": ("code", "HTTP answers by status"),
    ]

    private(set) var text = ""
    private var lastLabelled = ""

    /// Writes what a listener tells of itself.
    init(_ site: Site) {
        for metric in site.metrics where metric.kind != .histogram { append(metric) }
        let counts = site.statistics.all
        let name = "couchdb_request_time_seconds"
        head(name, "summary", "time until an answer begins")
        let times = Distribution(counts.times)
        for (_, part) in Distribution.parts {
            text += "\(name){quantile=\"\(part)\"} \(times.below(part) / 1_000)\n"
        }
        text += "\(name)_sum \(counts.allTimes / 1_000)\n\(name)_count \(counts.requests)\n"
        head("couchdb_uptime_seconds", "counter", "time since the listener was made")
        text += "couchdb_uptime_seconds \(site.statistics.uptime.components.seconds)\n"
    }

    private mutating func head(_ name: String, _ type: String, _ description: String) {
        text += "# HELP \(name) \(description)\n# TYPE \(name) \(type)\n"
    }

    private mutating func append(_ metric: Metric) {
        let words = metric.path[0] == "couchdb" ? Array(metric.path.dropFirst()) : metric.path
        if let (label, description) = Self.labels[words[0]] {
            let name = "couchdb_\(words[0])"
            if !lastLabelled.hasSameBytes(as: name) { head(name, "counter", description) }
            lastLabelled = name
            text += "\(name){\(label)=\"\(words[1])\"} \(metric.value)\n"
            return
        }
        let end = metric.kind == .counter ? "_total" : ""
        let name = "couchdb_" + words.joined(separator: "_") + end
        head(name, metric.kind.rawValue, metric.description)
        text += "\(name) \(metric.value)\n"
    }
}
