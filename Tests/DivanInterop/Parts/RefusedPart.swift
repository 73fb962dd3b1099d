// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanJSON

/// Documents that one end can hold and the other cannot go among others. The others arrive, and the refused
/// ones are told of.
struct RefusedPart {
    private let harness: Harness

    init(_ harness: Harness) { self.harness = harness }

    func run() async throws {
        for direction in Direction.allCases { try await run(direction) }
        try await poison()
    }

    /// Documents that some servers refuse: what they are called, and their texts.
    private var awkward: [RevisionText] {
        let long = String(repeating: "x", count: 5_000)
        return [
            RevisionText("refused: arrays 600 deep", "\"v\": \(Material.nested("[", "]", 600))"),
            RevisionText(
                "refused: objects 600 deep", "\"v\": \(Material.nested("{\"a\":", "}", 600))"),
            RevisionText(
                "refused: arrays 1,100 deep", "\"v\": \(Material.nested("[", "]", 1_100))"),
            RevisionText("refused: an ID of 5,000 bytes \(long)", #""v": 1"#),
            RevisionText(
                "refused: a revision of 300 characters", ["1-\(long.prefix(300))"], #""v": 1"#),
            RevisionText(
                "refused: an old revision of 300 characters", ["2-a", "1-\(long.prefix(300))"],
                #""v": 1"#),
            RevisionText("refused: a generation beyond 2^53", ["9007199254740993-a"], #""v": 1"#),
            RevisionText("refused: half a surrogate pair", #""v": "\ud800""#),
            RevisionText("refused: half a surrogate pair in a key", #""\udfff": 1"#),
            RevisionText("refused: 1e400", #""v": 1e400"#),
            RevisionText("refused: -1e400 within", #""v": [{"a": -1e400}]"#),
            RevisionText("refused: a reserved property", #""_strange": 1"#),
            RevisionText("refused: an ID with a reserved beginning", #""v": 1"#).with(
                id: "_reserved"),
        ]
            + (harness.options.amount == .quick
                ? []
                : [
                    RevisionText(
                        "refused: 9 MB", "\"v\": \"\(String(repeating: "x", count: 9 << 20))\""),
                    RevisionText(
                        "refused: 70 MB", "\"v\": \"\(String(repeating: "x", count: 70 << 20))\""),
                ])
    }

    private func run(_ direction: Direction) async throws {
        let pair = try await harness.makePair("refused", direction.rawValue)
        let source = pair.source(direction)
        let target = pair.target(direction)
        try await source.store((0..<30).map { RevisionText("good \($0)", "\"n\": \($0)").text })
        var held: [RevisionText] = []
        for text in awkward where !isPoison(text, direction) {
            if try await takes(source, text) { held.append(text) }
        }
        try await source.store((30..<60).map { RevisionText("good \($0)", "\"n\": \($0)").text })
        let outcome = try await harness.replicate(pair, direction, part: "refused")
        let there = try await target.leaves()
        let heldUp = (0..<60).filter { there[ExactString("good \($0)")] == nil }
        if !heldUp.isEmpty {
            harness.report.fail(
                "refused", direction.rawValue, "good documents",
                "\(heldUp.count) of 60 were held up")
        }
        harness.report.checked(60 + held.count)
        var missing: [RevisionText] = []
        for text in held where there[ExactString(text.id)] == nil { missing.append(text) }
        tell(missing, outcome, direction)
        harness.report.say(
            "  \(direction.rawValue): of \(held.count) awkward documents \(missing.count) were refused"
        )
    }

    /// Whether a document ends the replications of a server that reads it, so that it goes by itself.
    private func isPoison(_ text: RevisionText, _ direction: Direction) -> Bool {
        direction == .serverPulls && !harness.isStandIn && text.properties.contains("1e400")
    }

    /// Documents that CouchDB cannot even read: what becomes of its replication.
    private func poison() async throws {
        for text in awkward where isPoison(text, .serverPulls) {
            let pair = try await harness.makePair(
                "refused", "poison", text.id.filter(\.isNumber), "\(text.properties.utf8.count)")
            guard try await takes(pair.here, text) else { continue }
            let outcome = try await pair.replicate(.serverPulls)
            harness.report.checked()
            guard outcome.failure != nil else { continue }
            harness.report.fail(
                "refused", Direction.serverPulls.rawValue, text.id, "ends the server's replication")
        }
    }

    /// Whether the source holds a document, so that it can be replicated at all.
    private func takes(_ source: RemoteDatabase, _ text: RevisionText) async throws -> Bool {
        let body = "{\"new_edits\":false,\"docs\":[\(text.text)]}"
        let answer = try await source.send(.post, "_bulk_docs", Array(body.utf8))
        guard answer.isSuccess, answer.json?.array == [] else {
            // What is wrong with a request is the client's fault, whatever it was.
            if answer.status >= 500 {
                harness.report.fail(
                    "refused", "sent to \(source.server.name)", text.id,
                    "is answered \(answer.status)")
            }
            return false
        }
        return true
    }

    /// What is told of a document; a long ID is named by its beginning.
    private func reason(for text: RevisionText, _ outcome: Outcome) -> String? {
        guard text.id.utf8.count > 1_000 else { return outcome.reasons[ExactString(text.id)] }
        return outcome.reasons.first { $0.key.text.utf8.starts(with: text.id.utf8.prefix(40)) }?
            .value
    }

    /// Each document that did not arrive must be told of.
    private func tell(_ missing: [RevisionText], _ outcome: Outcome, _ direction: Direction) {
        guard outcome.failure == nil else { return }
        switch direction {
        case .divanPushes, .divanPulls:
            for text in missing {
                if let reason = reason(for: text, outcome) {
                    harness.report.say("  \(Difference.quoted(text.id)): \(reason)")
                } else {
                    harness.report.fail("refused", direction.rawValue, text.id, "is not told of")
                }
            }
        case .serverPushes, .serverPulls:
            if outcome.refused < missing.count {
                harness.report.fail(
                    "refused", direction.rawValue, missing.map(\.id).joined(separator: ", "),
                    "are \(missing.count), and \(outcome.refused) are told of")
            }
        }
    }
}

extension RevisionText {
    fileprivate func with(id: String) -> RevisionText {
        var text = self
        text.id = id
        return text
    }
}
