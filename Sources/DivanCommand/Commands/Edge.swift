// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanJSON
internal import DivanListener
internal import DivanReplication

extension Command {
    /// `divan edge`: how databases are kept in step with a hub.
    static let edge = Command(
        CommandSchema(
            name: "edge",
            summary: "Show how an edge is in step with its hub.",
            discussion: """
                "edge status URL" asks the server at URL, a "divan serve --hub", how its databases are doing. DOWN is what \
                comes from the hub, UP what goes there. LAG is for how many seconds a side may have lacked something; \
                PENDING counts changes that are known to wait, REFUSED documents that the other side did not take.
                The exit code is 0 when the hub is reached, all replications run and nothing is refused, \
                and 5 otherwise.
                """,
            arguments: [
                ArgumentSchema(
                    name: "ACTION", summary: "What to do: status.", completion: .choices(["status"])
                ),
                ArgumentSchema(
                    name: "URL", summary: "The server, with a name and password that may ask."),
            ],
            options: [.flag("json", nil, "Print what the server answers.")]
                + ReplicationOptions.trust,
            examples: [
                "divan edge status http://admin:secret@localhost:5984",
                "divan edge status https://admin:secret@shop-7.example.org:6984 --json",
            ]),
        waiting: { invocation in
            let action = try invocation.arguments.argument("ACTION")
            guard action == "status" else {
                throw UsageError("ACTION is status, not \"\(action)\".")
            }
            try await invocation.showEdge(invocation.arguments.argument("URL"))
        })
}

extension Invocation {
    fileprivate func showEdge(_ url: String) async throws {
        guard ReplicationEnds.isURL(url) else {
            throw UsageError("URL is that of a server, such as http://localhost:5984.")
        }
        var settings = ReplicationConfiguration()
        if let trust = try ReplicationOptions.trust(self) {
            try ReplicationOptions.check(trust, between: [url])
            settings.trust = trust
        }
        let server = try RemoteServer(url, settings)
        let task = Task { try await EdgeStatus(server) }
        interruption.onRequest { task.cancel() }
        let status = try await task.value
        if arguments.flag("json") {
            try output.json(Array(JSONValue.object(status.answer).description.utf8))
        } else {
            for line in status.lines { try output.line(PrintableText.escaping(line)) }
        }
        guard status.isWell else {
            throw CommandFailure(
                .problemsFound, "The edge is not in step with its hub; its lines say why.")
        }
    }
}

/// What an edge answers about itself, all pages of it.
private struct EdgeStatus {
    let answer: JSONObject
    private let databases: [JSONValue]

    init(_ server: RemoteServer) async throws {
        var answer = try await server.object("_edge")
        var databases = answer["databases"]?.array ?? []
        let count = Int(clamping: answer["total_rows"]?.int64 ?? 0)
        while databases.count < min(count, ListenerHub.mostDatabases) {
            let page = try await server.object("_edge", query: [("skip", "\(databases.count)")])
            guard let rows = page["databases"]?.array, !rows.isEmpty else { break }
            databases += rows
        }
        answer["databases"] = .array(databases)
        (self.answer, self.databases) = (answer, databases)
    }

    /// Whether nothing has to be looked after.
    var isWell: Bool {
        answer["state"] == "reached"
            && ["waiting", "ended", "refused"].allSatisfy { answer[$0]?.int64 == 0 }
            && databases.allSatisfy { $0["state"] == "followed" }
    }

    var lines: [String] {
        var lines = ["The hub \(text(answer["hub"])) is \(text(answer["state"]))."]
        if let reason = answer["reason"]?.string { lines.append(reason) }
        var table = TextTable([.left, .left, .left, .right, .right, .right])
        table.add("DATABASE", "DOWN", "UP", "LAG", "PENDING", "REFUSED")
        var reasons: [String] = []
        for row in databases {
            let (name, pull, push) = (text(row["name"]), row["pull"], row["push"])
            let isFollowed = row["state"] == "followed"
            table.add(
                name, isFollowed ? text(pull?["state"]) : text(row["state"]),
                text(push?["state"]), lag(pull, push), sum("pending", pull, push),
                sum("refused", pull, push))
            for reason in [row["reason"], pull?["reason"], push?["reason"]] {
                guard let reason = reason?.string.map({ "\(name): \($0)" }) else { continue }
                if !reasons.contains(where: reason.hasSameBytes) { reasons.append(reason) }
            }
        }
        return lines + table.lines + reasons
    }

    private func text(_ value: JSONValue?) -> String { value?.string ?? "-" }

    private func lag(_ pull: JSONValue?, _ push: JSONValue?) -> String {
        // Users come by a pull alone.
        let lags = [pull, push].compactMap { $0 }.map { $0["lag"]?.int64 }
        return lags.isEmpty || lags.contains(nil) ? "-" : "\(lags.compactMap { $0 }.max() ?? 0) s"
    }

    private func sum(_ name: String, _ pull: JSONValue?, _ push: JSONValue?) -> String {
        "\([pull, push].reduce(Int64(0)) { $0.addingSaturated($1?[name]?.int64 ?? 0) })"
    }
}
