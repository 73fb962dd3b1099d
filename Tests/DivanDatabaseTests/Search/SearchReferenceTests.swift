// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanTestSupport
import enum DivanTestSupport.Soak
import Testing

@testable import DivanQuery

/// Searches find what a look through all documents does, on random documents, changes and queries.
@Suite struct SearchReferenceTests {
    private static let words = ["a", "ab", "abc", "b", "ba", "cab", "bb", "aab"]

    @Test func `every search agrees with looking through all documents`() throws {
        for round in Soak.rounds(test: 120, soak: 4_000) {
            var random = Soak.random(round: round, salt: 0x5EA7)
            try Self.run(round, &random)
        }
    }

    private static func run(_ round: Int, _ random: inout SeededRandom) throws {
        let database = try Database.inMemory()
        let index = try SearchIndex.calling(database)
        var model: [String: Fields] = [:]
        for _ in 0..<3 {
            // Some have more rows of a word than a page of a cursor.
            for _ in 0..<(1 + random.below(random.oneIn(8) ? 60 : 10)) {
                try change(database, &model, &random)
            }
            for _ in 0..<8 {
                let question = question(&random, depth: 3)
                let expected = model.filter { question.matches($0.value) }.keys.sorted()
                try check(
                    index, question, expected, model, "round \(round): \(question.text)", &random)
            }
        }
        #expect(try database.verify().isEmpty, "round \(round)")
        database.close()
    }

    private static func check(
        _ index: SearchIndex, _ question: Question, _ expected: [String], _ model: [String: Fields],
        _ note: Comment, _ random: inout SeededRandom
    ) throws {
        var query = SearchQuery(question.text)
        query.limit = 200
        query.counts = ["tag"]
        var range = SearchQuery.Range(field: "n", label: "low")
        range.upper = 3
        query.ranges = [range]
        let result = try index.run(query)
        #expect(result.hits.map(\.id.text).sorted() == expected, note)
        #expect(result.total == expected.count, note)
        var counts: [String: Int] = [:]
        for id in expected { if let tag = model[id]?.tag { counts[tag, default: 0] += 1 } }
        let counted = result.counts?.first?.labels ?? []
        #expect(
            Dictionary(uniqueKeysWithValues: counted.map { ($0.label, $0.count) }) == counts, note)
        let low = expected.count { model[$0]?.number.map { $0 <= 3 } ?? false }
        #expect(result.ranges?.first?.labels.first?.count == low, note)
        try checkPages(index, query, result, &random, note)
        try checkGroups(index, query, expected, model, note)
    }

    /// Pages in an order are the parts of one that has all.
    private static func checkPages(
        _ index: SearchIndex, _ query: SearchQuery, _ all: SearchResult,
        _ random: inout SeededRandom,
        _ note: Comment
    ) throws {
        var query = query
        let orders: [SearchOrder] = [
            .score, SearchOrder(.field("n", .number), isDescending: random.oneIn(2)),
            SearchOrder(.field("tag", .any)), SearchOrder(.document, isDescending: true),
        ]
        query.order = random.oneIn(2) ? [random.element(of: orders)] : [orders[2], orders[1]]
        let whole = try index.run(query).hits.map(\.id)
        #expect(whole.count == all.hits.count, note)
        var pages: [DocumentID] = []
        query.limit = 1 + random.below(4)
        for _ in 0...whole.count {
            let page = try index.run(query)
            pages += page.hits.map(\.id)
            guard let end = page.end, page.hits.count == query.limit else { break }
            query.after = try SearchPosition(end.text, query.order)
        }
        #expect(pages == whole, note)
    }

    private static func checkGroups(
        _ index: SearchIndex, _ query: SearchQuery, _ expected: [String], _ model: [String: Fields],
        _ note: Comment
    ) throws {
        var query = query
        query.grouping = .init(field: "tag", limit: 200, order: [.score])
        let groups = try index.run(query).groups ?? []
        #expect(groups.reduce(0) { $0 + $1.total } == expected.count, note)
        for group in groups {
            let own = expected.filter { model[$0]?.tag == group.value?.string }
            #expect(group.hits.map(\.id.text).sorted() == own, note)
        }
    }

    // MARK: - Documents

    struct Fields {
        var texts: [[String]] = []
        var tag: String?
        var number: Double?

        /// The places of a word: values are a hundred places apart.
        func places(_ word: String) -> [Int] {
            var (places, length) = ([Int](), 0)
            for text in texts {
                let start = length == 0 ? 0 : length + 100
                for (place, other) in text.enumerated() where other == word {
                    places.append(start + place)
                }
                length = max(length, start + text.count)
            }
            return places
        }

        var words: [String] { texts.flatMap { $0 } }
    }

    private static func change(
        _ database: Database, _ model: inout [String: Fields], _ random: inout SeededRandom
    ) throws {
        let id: DocumentID = "d\(random.below(70))"
        if random.oneIn(5) {
            if random.oneIn(2) {
                try database.purge(id)
            } else if try database.contains(id) {
                try database.delete(id)
            }
            model[id.text] = nil
            return
        }
        var fields = Fields()
        var calls: [JSONValue] = []
        for _ in 0..<random.below(3) {
            let text = (0..<random.below(6)).map { _ in random.element(of: words) }
            fields.texts.append(text)
            calls.append(["default", .string(text.joined(separator: " ")), [:]])
        }
        if random.oneIn(2) {
            let tag = random.element(of: words)
            fields.tag = tag
            calls.append(["tag", .string(tag), ["index": "not_analyzed", "facet": true]])
        }
        if random.oneIn(2) {
            let number = Double(random.below(12)) / 2 - 1
            fields.number = number
            calls.append(["n", .double(number), ["facet": true, "store": true]])
        }
        let document = try database.document(withID: id)?.toMutable() ?? MutableDocument(id: id)
        document.set(JSONValue.array(calls), forKey: "fields")
        try database.save(document)
        model[id.text] = calls.isEmpty ? nil : fields
    }

    // MARK: - Questions

    /// A query as text, and whether documents match it.
    struct Question {
        var text: String
        var matches: (Fields) -> Bool
    }

    private static func question(_ random: inout SeededRandom, depth: Int) -> Question {
        switch random.below(depth > 0 ? 14 : 9) {
        case 0: return Question(text: "*:*") { _ in true }
        case 1:
            let word = random.element(of: words)
            return Question(text: "tag:\(word)") { $0.tag == word }
        case 2:
            let start = random.element(of: words)
            return Question(text: "\(start)*") { $0.words.contains { $0.hasPrefix(start) } }
        case 3: return wildcard(&random)
        case 4: return phrase(&random)
        case 5: return numbers(&random)
        case 6:
            let ends = [random.element(of: words), random.element(of: words)]
            let isOpen = random.oneIn(2)
            return Question(
                text: "tag:\(isOpen ? "{" : "[")\(ends[0]) TO \(ends[1])\(isOpen ? "}" : "]")"
            ) {
                guard let tag = $0.tag else { return false }
                return isOpen ? tag > ends[0] && tag < ends[1] : tag >= ends[0] && tag <= ends[1]
            }
        case 7:
            let (word, distance) = (random.element(of: words), random.below(3))
            return Question(text: "\(word)~\(distance == 0 ? "0.99" : "\(distance)")") {
                $0.words.contains { edits(Array($0), Array(word)) <= distance }
            }
        case 8:
            let word = random.element(of: words)
            return Question(text: word) { $0.words.contains(word) }
        case 9, 10, 11: return sequence(&random, depth: depth)
        default: return signed(&random, depth: depth)
        }
    }

    private static func wildcard(_ random: inout SeededRandom) -> Question {
        var pattern = random.element(of: words)
        for _ in 0..<(1 + random.below(2)) { pattern += random.element(of: ["*", "?", "b", "c*"]) }
        if !pattern.contains(where: { $0 == "*" || $0 == "?" }) { pattern += "?" }
        let signs = Array(pattern)
        return Question(text: pattern) { $0.words.contains { fits(Array($0)[...], signs[...]) } }
    }

    private static func fits(_ text: ArraySlice<Character>, _ pattern: ArraySlice<Character>)
        -> Bool
    {
        guard let first = pattern.first else { return text.isEmpty }
        if first == "*" {
            return fits(text, pattern.dropFirst())
                || !text.isEmpty && fits(text.dropFirst(), pattern)
        }
        guard let next = text.first, first == "?" || first == next else { return false }
        return fits(text.dropFirst(), pattern.dropFirst())
    }

    private static func phrase(_ random: inout SeededRandom) -> Question {
        var parts = [random.element(of: words)]
        for _ in 0..<random.below(3) {
            let word = random.element(of: words)
            if !parts.contains(word) { parts.append(word) }
        }
        let slop = random.below(4)
        let text = "\"\(parts.joined(separator: " "))\"" + (slop > 0 ? "~\(slop)" : "")
        return Question(text: text) { fields in
            // Every choice of a place for each word.
            var choices: [[Int]] = [[]]
            for (offset, word) in parts.enumerated() {
                choices = choices.flatMap { choice in
                    fields.places(word).map { choice + [$0 - offset] }
                }
            }
            return choices.contains { ($0.max() ?? 0) - ($0.min() ?? 0) <= slop }
        }
    }

    private static func numbers(_ random: inout SeededRandom) -> Question {
        let (low, high) = (Double(random.below(12)) / 2 - 1, Double(random.below(12)) / 2 - 1)
        switch random.below(4) {
        case 0: return Question(text: "n:\\\(low)") { $0.number == low }
        case 1: return Question(text: "n:{\(low) TO *]") { $0.number.map { $0 > low } ?? false }
        case 2:
            return Question(text: "n:[-Infinity TO \(high)}") {
                $0.number.map { $0 < high } ?? false
            }
        default:
            return Question(text: "n:[\(low) TO \(high)]") {
                $0.number.map { $0 >= low && $0 <= high } ?? false
            }
        }
    }

    /// Clauses with signs before them.
    private static func signed(_ random: inout SeededRandom, depth: Int) -> Question {
        let clauses = (0...random.below(3)).map { _ in
            (
                sign: random.element(of: ["", "", "+", "-"]),
                question: question(&random, depth: depth - 1)
            )
        }
        let text = clauses.map { "\($0.sign)(\($0.question.text))" }.joined(separator: " ")
        return Question(text: "(\(text))") { matches(clauses, $0) }
    }

    /// Clauses with AND, OR and NOT between them.
    private static func sequence(_ random: inout SeededRandom, depth: Int) -> Question {
        var clauses: [(sign: String, question: Question)] = []
        var text = ""
        for place in 0...(1 + random.below(3)) {
            let next = question(&random, depth: depth - 1)
            let word = random.element(of: ["AND", "OR", "&&", "||", ""])
            let isAnd = place > 0 && (word == "AND" || word == "&&")
            let isNot = random.oneIn(5)
            if place > 0 { text += " \(word) " }
            text += (isNot ? random.element(of: ["NOT ", "!", "-"]) : "") + "(\(next.text))"
            if isAnd, clauses[place - 1].sign == "" { clauses[place - 1].sign = "+" }
            clauses.append((isNot ? "-" : isAnd ? "+" : "", next))
        }
        return Question(text: "(\(text))") { matches(clauses, $0) }
    }

    private static func matches(_ clauses: [(sign: String, question: Question)], _ fields: Fields)
        -> Bool
    {
        if clauses.contains(where: { $0.sign == "-" && $0.question.matches(fields) }) {
            return false
        }
        let required = clauses.filter { $0.sign == "+" }
        if !required.isEmpty { return required.allSatisfy { $0.question.matches(fields) } }
        return clauses.contains { $0.sign == "" && $0.question.matches(fields) }
    }

    /// Characters put in, left out, replaced, or two swapped.
    private static func edits(_ left: [Character], _ right: [Character]) -> Int {
        var table = [[Int]](repeating: Array(0...right.count), count: left.count + 1)
        for row in table.indices { table[row][0] = row }
        for row in 0..<left.count {
            for column in 0..<right.count {
                var best = min(
                    table[row][column] + (left[row] == right[column] ? 0 : 1),
                    table[row][column + 1] + 1, table[row + 1][column] + 1)
                if row > 0, column > 0, left[row] == right[column - 1],
                    left[row - 1] == right[column]
                {
                    best = min(best, table[row - 1][column - 1] + 1)
                }
                table[row + 1][column + 1] = best
            }
        }
        return table[left.count][right.count]
    }
}
