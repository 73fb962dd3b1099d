// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanReplication

/// Which way changes go, and who sees to that.
enum Direction: String, CaseIterable {
    case divanPushes = "Divan pushes"
    case divanPulls = "Divan pulls"
    case serverPushes = "the server pushes"
    case serverPulls = "the server pulls"

    /// Whether changes go from Divan to the server.
    var leavesDivan: Bool { self == .divanPushes || self == .serverPulls }
}

/// What a replication leaves out.
struct Terms {
    var documentIDs: [DocumentID] = []
    var selector: JSONObject?
    var filter: String?
    var parameters: JSONObject = [:]
    var isContinuous = false

    func apply(to settings: inout ReplicationConfiguration) {
        settings.documentIDs = documentIDs
        settings.selector = selector
        settings.filter = filter
        settings.filterParameters = parameters
        settings.isContinuous = isContinuous
        settings.retry.firstDelay = .milliseconds(100)
        settings.retry.longestDelay = .seconds(1)
        settings.retry.maximumAttempts = 10
    }

    var json: JSONObject {
        var json: JSONObject = [:]
        if !documentIDs.isEmpty { json["doc_ids"] = .array(documentIDs.map { .string($0.text) }) }
        if let selector { json["selector"] = .object(selector) }
        if let filter { json["filter"] = .string(filter) }
        if !parameters.isEmpty { json["query_params"] = .object(parameters) }
        if isContinuous { json["continuous"] = true }
        return json
    }
}

/// What a replication says of itself.
struct Outcome: Sendable {
    /// How many documents it transferred.
    var transferred = 0
    /// How many it says were refused.
    var refused = 0
    /// Of which documents it says why.
    var reasons: [ExactString: String] = [:]
    /// Why it failed as a whole; nil when it did not.
    var failure: String?
}

/// A database of ours and one of the server, between which replications run.
struct Pair: Sendable {
    let here: RemoteDatabase
    /// The same as `here`, without HTTP.
    let local: Database
    let there: RemoteDatabase

    /// The document that both have from the beginning.
    static let common = "both have this"

    func source(_ direction: Direction) -> RemoteDatabase {
        direction.leavesDivan ? here : there
    }

    func target(_ direction: Direction) -> RemoteDatabase {
        direction.leavesDivan ? there : here
    }

    /// Replicates once.
    func replicate(_ direction: Direction, _ terms: Terms = Terms()) async throws -> Outcome {
        switch direction {
        case .divanPushes:
            await run(local.makePushReplication(to: there.address) { terms.apply(to: &$0) })
        case .divanPulls:
            await run(local.makePullReplication(from: there.address) { terms.apply(to: &$0) })
        case .serverPushes, .serverPulls:
            Self.outcome(of: try await request(direction, terms))
        }
    }

    /// Asks the server to replicate.
    func request(_ direction: Direction, _ terms: Terms, isCancelling: Bool = false) async throws
        -> Answer
    {
        var body = terms.json
        body["source"] = .string(source(direction).address)
        body["target"] = .string(target(direction).address)
        if isCancelling { body["cancel"] = true }
        return try await there.server.send(.post, "/_replicate", json: body)
    }

    private func run(_ replication: Replication) async -> Outcome {
        var outcome = Outcome()
        do {
            try await replication.run()
        } catch {
            outcome.failure = "\(error)"
        }
        let summary = replication.summary
        outcome.transferred = summary.transferred
        outcome.refused = summary.refused
        for error in summary.documentErrors {
            outcome.reasons[ExactString(error.documentID?.text ?? "")] = error.message
        }
        return outcome
    }

    private static func outcome(of answer: Answer) -> Outcome {
        var outcome = Outcome()
        guard answer.isSuccess, let json = answer.json else {
            outcome.failure = "\(answer)"
            return outcome
        }
        // The history of a run that found nothing is that of the run before.
        guard json["no_changes"]?.bool != true else { return outcome }
        let session = json["history"]?[0] ?? json
        outcome.transferred = Int(session["docs_written"]?.int64 ?? 0)
        outcome.refused = Int(session["doc_write_failures"]?.int64 ?? 0)
        return outcome
    }
}

extension Harness {
    /// Makes a pair of databases that are equal, with one document.
    func makePair(_ words: String...) async throws -> Pair {
        let name = name(words.joined(separator: "-"))
        let pair = Pair(
            here: try await here.server.makeDatabase(name),
            local: try here.manager.database(named: name),
            there: try await there.makeDatabase(name))
        // A first pull into an empty database may leave tombstones out, so none is empty.
        for database in [pair.here, pair.there] {
            try await database.store([RevisionText(Pair.common, #""at": "both ends""#).text])
        }
        return pair
    }

    /// Replicates once; that it fails as a whole is a difference.
    @discardableResult
    func replicate(
        _ pair: Pair, _ direction: Direction, _ terms: Terms = Terms(), part: String
    ) async throws -> Outcome {
        let outcome = try await pair.replicate(direction, terms)
        if let failure = outcome.failure {
            report.fail(
                part, direction.rawValue, pair.there.name, "the replication failed: \(failure)")
        }
        if outcome.refused > 0, part != "refused" {
            report.fail(
                part, direction.rawValue, pair.there.name,
                "\(outcome.refused) were refused: \(outcome.reasons)")
        }
        return outcome
    }
}
