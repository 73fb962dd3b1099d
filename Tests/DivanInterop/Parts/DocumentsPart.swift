// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanJSON

/// Difficult documents go in four directions, and must be the same at both ends afterwards.
struct DocumentsPart {
    private let harness: Harness
    private let documents: [RevisionText]

    init(_ harness: Harness) {
        self.harness = harness
        let isQuick = harness.options.amount == .quick
        documents =
            Material.values(isQuick: isQuick) + Material.identifiers + [Material.design]
            + Material.trees(isQuick: isQuick)
            + Material.attachments(isQuick: isQuick, harness.random(1))
            + Material.random(harness.options.count(10, 40, 400), harness.random(2))
    }

    func run() async throws {
        for direction in Direction.allCases { try await run(direction) }
    }

    private func run(_ direction: Direction) async throws {
        let pair = try await harness.makePair("documents", direction.rawValue)
        let source = pair.source(direction)
        try await source.store(documents.filter { goes($0, direction) }.map(\.text))
        _ = try await source.write("_local/stays here", ["n": 1])
        let before = try await Snapshot.take(source)
        let outcome = try await harness.replicate(pair, direction, part: "documents")
        let after = try await Snapshot.take(pair.target(direction))
        let names =
            direction.leavesDivan
            ? [harness.here.server.name, harness.there.name]
            : [harness.there.name, harness.here.server.name]
        // What a failure has kept from coming is told of once.
        let missing =
            outcome.failure == nil
            ? [] : Set(before.documents.keys).subtracting(after.documents.keys)
        if !missing.isEmpty {
            harness.report.fail(
                "documents", direction.rawValue, "all", "\(missing.count) did not arrive")
        }
        harness.comparison("documents", direction.rawValue, names).compare(
            before, after, passing: missing)
        let local = try await pair.target(direction).send(
            .get, RemoteDatabase.path("_local/stays here"))
        if local.status != 404 {
            harness.report.fail(
                "documents", direction.rawValue, "_local/stays here", "it went along")
        }
        try await again(pair, direction)
        harness.report.say("  \(direction.rawValue): \(before.documents.count) documents")
    }

    /// Whether a document is tried in a direction.
    ///
    /// CouchDB's replicator waits for five minutes where an attachment has no bytes, with any server at the other end.
    private func goes(_ document: RevisionText, _ direction: Direction) -> Bool {
        let isOurs = direction == .divanPushes || direction == .divanPulls
        let isEmpty = document.attachments.contains { $0.content.isEmpty }
        return isOurs || harness.isStandIn || harness.options.amount == .full || !isEmpty
    }

    /// A second run finds nothing to do.
    private func again(_ pair: Pair, _ direction: Direction) async throws {
        let outcome = try await harness.replicate(pair, direction, part: "documents")
        if outcome.transferred > 0 {
            harness.report.fail(
                "documents", direction.rawValue, "all",
                "\(outcome.transferred) go once more the second time")
        }
    }
}
