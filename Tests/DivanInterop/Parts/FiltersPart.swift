// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON

/// Replications of some documents only.
struct FiltersPart {
    private let harness: Harness

    init(_ harness: Harness) { self.harness = harness }

    private static let design = """
        {"_id": "_design/of", "_rev": "1-f", "language": "javascript", "filters": {
          "kind": "function (doc, req) { return doc.kind === req.query.kind; }"}}
        """

    private var documents: [String] {
        let kinds = ["apple", "pear", "plum"]
        let texts = (0..<60).map { number in
            var text = RevisionText(
                "f\(number)",
                "\"kind\": \"\(kinds[number % 3])\", \"n\": \(number), \"é\": {\"a\": [1, \(number)]}"
            )
            text.isDeleted = number % 20 == 19
            return text
        }
        let odd = ["a/b", "\u{E9}", "e\u{301}", "a+b", "_design/x", "100%"].map {
            RevisionText($0, #""kind": "odd""#)
        }
        return (texts + odd).map(\.text)
    }

    func run() async throws {
        try await selectorsAgree()
        for direction in Direction.allCases {
            try await identifiers(direction)
            // A server takes its time to begin; what both take for a selector is the same by now.
            let isOurs = direction == .divanPushes || direction == .divanPulls
            let count = isOurs && harness.options.amount != .quick ? Self.selectors.count : 3
            for (number, selector) in Self.selectors.prefix(count).enumerated() {
                try await select(direction, number, selector)
            }
            try await function(direction)
            try await missingFunction(direction)
            harness.report.say("  \(direction.rawValue): done")
        }
    }

    private func identifiers(_ direction: Direction) async throws {
        let wanted = ["f1", "f19", "a/b", "\u{E9}", "a+b", "_design/x", "100%", "not there"]
        var terms = Terms()
        terms.documentIDs = wanted.map { DocumentID($0) }
        let present = Set(wanted.dropLast().map { ExactString($0) })
        try await expect(present, direction, "of IDs", terms)
    }

    /// Both ends say of each selector the same documents.
    private func selectorsAgree() async throws {
        let pair = try await harness.makePair("filters", "agree")
        try await pair.here.store(documents)
        try await pair.there.store(documents)
        for selector in Self.selectors {
            let here = try await matching(pair.here, selector)
            let there = try await matching(pair.there, selector)
            harness.report.checked()
            guard here != there else { continue }
            harness.report.add(
                Difference(
                    part: "filters", circumstance: "",
                    subject: JSONWriter.string(.object(selector)),
                    facet: "documents",
                    ends: [("Divan", "\(here.count)"), (harness.there.name, "\(there.count)")]))
        }
    }

    /// What is asked of both.
    private static let selectors: [JSONObject] = [
        ["kind": "apple"], ["n": ["$gt": 30]], ["$or": [["kind": "pear"], ["n": ["$lt": 3]]]],
        ["kind": ["$in": ["plum", "odd"]]], ["é.a.1": ["$lte": 5]], ["_id": ["$gt": "f5"]],
        ["kind": ["$regex": "^p"]], ["n": ["$exists": false]], ["é.a": ["$elemMatch": ["$eq": 7]]],
        ["$not": ["kind": "apple"]], ["n": ["$mod": [7, 3]]], ["_deleted": true],
    ]

    private func select(_ direction: Direction, _ number: Int, _ selector: JSONObject) async throws
    {
        var terms = Terms()
        terms.selector = selector
        let pair = try await filled(direction, "selector \(number)")
        // The replication must agree with what its source says.
        let wanted = try await matching(pair.source(direction), selector)
        _ = try await harness.replicate(pair, direction, terms, part: "filters")
        try await compare(
            wanted, pair.target(direction), direction,
            "selector \(JSONWriter.string(.object(selector)))")
    }

    private func matching(_ database: RemoteDatabase, _ selector: JSONObject) async throws
        -> Set<ExactString>
    {
        let answer = try await database.send(
            .post, "_changes?filter=_selector", json: ["selector": .object(selector)])
        guard answer.isSuccess else { throw Trouble("No feed with a selector: \(answer)") }
        return Set(
            (answer.json?["results"]?.array ?? []).compactMap { $0["id"]?.string }.map {
                ExactString($0)
            })
    }

    /// A function: JavaScript where the source is the server, the app's own where it is Divan.
    private func function(_ direction: Direction) async throws {
        var terms = Terms()
        terms.filter = "of/kind"
        terms.parameters = ["kind": "pear"]
        let pair = try await filled(direction, "function")
        pair.local.setFilter(named: "of/kind") { document, parameters in
            document["kind"].string == parameters["kind"]?.string
        }
        // CouchDB's replicator looks for the design document of a filter at the source, also if that is Divan.
        try await pair.source(direction).store([Self.design])
        if !direction.leavesDivan {
            let answer = try await pair.there.send(.get, "_changes?filter=of/kind&kind=pear")
            guard answer.isSuccess else {
                return harness.report.say(
                    "  \(direction.rawValue): no filter function: \(answer.status)")
            }
        }
        _ = try await harness.replicate(pair, direction, terms, part: "filters")
        let wanted = Set((0..<60).filter { $0 % 3 == 1 }.map { ExactString("f\($0)") })
        try await compare(wanted, pair.target(direction), direction, "function")
    }

    private func missingFunction(_ direction: Direction) async throws {
        var terms = Terms()
        terms.filter = "of/nothing"
        let pair = try await filled(direction, "no function")
        let outcome = try await pair.replicate(direction, terms)
        harness.report.checked()
        if let failure = outcome.failure {
            harness.report.say(
                "  \(direction.rawValue), a filter that is missing: \(failure.prefix(200).replacing("\n", with: " "))"
            )
        } else {
            harness.report.fail(
                "filters", direction.rawValue, "of/nothing", "a missing filter is no error")
        }
        if try await pair.target(direction).leaves().count > 1 {
            harness.report.fail(
                "filters", direction.rawValue, "of/nothing", "documents went all the same")
        }
    }

    private func filled(_ direction: Direction, _ words: String) async throws -> Pair {
        let pair = try await harness.makePair("filters", direction.rawValue, words)
        try await pair.source(direction).store(documents)
        return pair
    }

    private func expect(
        _ wanted: Set<ExactString>, _ direction: Direction, _ words: String, _ terms: Terms
    ) async throws {
        let pair = try await filled(direction, words)
        _ = try await harness.replicate(pair, direction, terms, part: "filters")
        try await compare(wanted, pair.target(direction), direction, words)
    }

    private func compare(
        _ wanted: Set<ExactString>, _ target: RemoteDatabase, _ direction: Direction,
        _ words: String
    ) async throws {
        let found = Set(try await target.leaves().keys)
        harness.report.checked(wanted.count)
        for id in wanted.symmetricDifference(found).subtracting([ExactString(Pair.common)]) {
            harness.report.fail(
                "filters", "\(direction.rawValue), \(words)", id.text,
                wanted.contains(id) ? "is missing" : "is there")
        }
    }
}
