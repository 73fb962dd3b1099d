// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import enum DivanTestSupport.Soak
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Searches agree with looking through all documents, on random texts and questions.
@Suite struct FullTextReferenceTests {
    private static let words = (0..<30).map { "w\($0)" } + ["wa", "wab", "wabc", "x"]

    @Test func `every search agrees with looking through all documents`() throws {
        for round in Soak.rounds(test: 200, soak: 5_000) {
            var random = Soak.random(round: round, salt: 0xF7E7)
            try Self.run(round, &random)
        }
    }

    private static func run(_ round: Int, _ random: inout SeededRandom) throws {
        let database = try Database.inMemory()
        let index = database.fullTextIndex(named: "t", on: ["texts"])
        var texts: [String: [[String]]] = [:]
        for _ in 0..<3 {
            for _ in 0..<(1 + random.below(12)) {
                try change(database, &texts, &random)
            }
            let model = Model(texts)
            for _ in 0..<6 {
                let question = expression(&random, depth: 2)
                let expected = model.scores(question)
                let found = try index.search(question).run()
                #expect(
                    found.map(\.documentID.text).sorted() == expected.keys.sorted(),
                    "round \(round): \(question)")
                for row in found {
                    let score = expected[row.documentID.text] ?? -1
                    #expect(abs(row.score - score) < 1e-9, "round \(round): \(question)")
                }
                #expect(
                    zip(found, found.dropFirst()).allSatisfy { $0.score >= $1.score },
                    "round \(round)")
            }
        }
        #expect(try database.verify().isEmpty, "round \(round)")
        database.close()
    }

    private static func change(
        _ database: Database, _ texts: inout [String: [[String]]], _ random: inout SeededRandom
    ) throws {
        let id: DocumentID = "d\(random.below(15))"
        if random.oneIn(5) {
            if random.oneIn(2) {
                try database.purge(id)
            } else if try database.contains(id) {
                try database.delete(id)
            }
            texts[id.text] = nil
            return
        }
        var own: [[String]] = []
        for _ in 0..<random.below(3) {
            var text: [String] = []
            for _ in 0..<random.below(12) { text.append(random.element(of: words)) }
            own.append(text)
        }
        let document = try database.document(withID: id)?.toMutable() ?? MutableDocument(id: id)
        let value: [JSONValue] = own.map {
            .string($0.joined(separator: random.oneIn(2) ? " " : ", "))
        }
        document.set(JSONValue.array(value), forKey: "texts")
        try database.save(document)
        texts[id.text] = own
    }

    private static func expression(_ random: inout SeededRandom, depth: Int) -> FullTextExpression {
        func word() -> String { random.element(of: words) }
        switch random.below(depth > 0 ? 8 : 4) {
        case 0: return .prefix(String(word().prefix(2)))
        case 1: return .phrase((0...random.below(3)).map { _ in word() }.joined(separator: " "))
        case 2:
            // A word, or a phrase of two.
            let words = (0..<2).map { _ in random.oneIn(3) ? "\(word()) \(word())" : word() }
            return .near(words, within: 1 + random.below(4))
        case 3: return .word(word())
        case 4, 5:
            return .all((0...random.below(3)).map { _ in expression(&random, depth: depth - 1) })
        case 6:
            return .any((0...random.below(3)).map { _ in expression(&random, depth: depth - 1) })
        default:
            return .except(
                expression(&random, depth: depth - 1), expression(&random, depth: depth - 1))
        }
    }
}

/// BM25 over lists of words, by the formula.
private struct Model {
    private let documents: [String: [[String]]]
    private let count: Double
    private let mean: Double

    init(_ texts: [String: [[String]]]) {
        documents = texts.filter { $0.value.contains { !$0.isEmpty } }
        count = Double(documents.count)
        let total = documents.values.reduce(0) { $0 + $1.reduce(0) { $0 + $1.count } }
        mean = documents.isEmpty ? 1 : Double(total) / count
    }

    func scores(_ expression: FullTextExpression) -> [String: Double] {
        switch expression {
        case .word(let word): return leaf([.init(word)])
        case .prefix(let start): return leaf([.init(start, isPrefix: true)])
        case .phrase(let text):
            return leaf(text.split(separator: " ").map { .init(String($0)) })
        case .near(let words, let distance):
            let phrases = words.map { $0.split(separator: " ").map { Item(String($0)) } }
            return leaf(phrases.flatMap(\.self)) { occurrences(near: phrases, $0, distance) }
        case .any(let parts):
            return parts.reduce(into: [:]) { $0.merge(scores($1)) { $0 + $1 } }
        case .all(let parts):
            guard var all = parts.first.map(scores) else { return [:] }
            for part in parts.dropFirst() {
                let other = scores(part)
                all = all.filter { other[$0.key] != nil }
                for id in all.keys { all[id, default: 0] += other[id] ?? 0 }
            }
            return all
        case .except(let wanted, let unwanted):
            let without = scores(unwanted)
            return scores(wanted).filter { without[$0.key] == nil }
        }
    }

    struct Item: Equatable {
        var text: String
        var isPrefix: Bool

        init(_ text: String, isPrefix: Bool = false) {
            self.text = text
            self.isPrefix = isPrefix
        }

        func matches(_ word: String) -> Bool { isPrefix ? word.hasPrefix(text) : word == text }
    }

    private func leaf(_ items: [Item]) -> [String: Double] {
        leaf(items) { text in text.indices.count { isPhrase(items, at: $0, text) } }
    }

    private func leaf(_ items: [Item], _ occurrences: ([String]) -> Int) -> [String: Double] {
        // How many different words of each document an item matches, added up.
        let rarest =
            items.map { item in
                documents.values.reduce(0) { $0 + Set($1.joined()).count { item.matches($0) } }
            }.min() ?? 0
        guard rarest > 0 else { return [:] }
        let weight = log(1 + max(0, count - Double(rarest) + 0.5) / (Double(rarest) + 0.5))
        return documents.compactMapValues { texts in
            let times = Double(texts.reduce(0) { $0 + occurrences($1) })
            guard times > 0 else { return nil }
            let length = Double(texts.reduce(0) { $0 + $1.count })
            return weight * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length / mean))
        }
    }

    private func isPhrase(_ items: [Item], at place: Int, _ text: [String]) -> Bool {
        items.indices.allSatisfy { number in
            place + number < text.count && items[number].matches(text[place + number])
        }
    }

    /// How often the first phrase stands near as many of each as there are.
    private func occurrences(near phrases: [[Item]], _ text: [String], _ distance: Int) -> Int {
        text.indices.count { place in
            guard isPhrase(phrases[0], at: place, text) else { return false }
            let end = place + phrases[0].count - 1
            return phrases.dropFirst().allSatisfy { phrase in
                let near = text.indices.count { other in
                    other - end <= distance && place - (other + phrase.count - 1) <= distance
                        && isPhrase(phrase, at: other, text)
                }
                return near >= phrases.count { $0 == phrase }
            }
        }
    }
}
