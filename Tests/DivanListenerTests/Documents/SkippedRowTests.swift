// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanTestSupport
import Testing

@testable import DivanListener

/// `skip` of `_all_docs`: what it leaves out, and what that costs.
@Suite struct SkippedRowTests {
    private let site: TestSite
    private let database: Database

    init() throws {
        site = try TestSite()
        database = try site.manager.database(named: "db")
    }

    private func fill(_ count: Int) throws {
        try database.inBatch {
            for n in 0..<count {
                try database.save(
                    MutableDocument(["n": .integer(Int64(n))], id: DocumentID(Self.id(n))))
            }
        }
    }

    private static func id(_ n: Int) -> String { "d\(100_000 + n)" }

    private func ids(_ query: String) -> [String] {
        let answer = site.send("GET", "/db/_all_docs" + query)
        return answer.json["rows"]?.array?.compactMap { $0["id"]?.string } ?? []
    }

    @Test func `what is skipped is left out, whatever the range, the order and the place`() throws {
        let count = 2_500
        try fill(count)
        // With deleted documents each record is looked at; without them keys tell enough.
        for deleted in [[], [0, 7, 999, 1_000, 1_001, 2_499]] {
            for n in deleted { try database.delete(DocumentID(Self.id(n))) }
            let gone = Set(deleted)
            for round in Soak.rounds(test: 60, soak: 2_000) {
                var random = Soak.random(round: round, salt: 0x5C1B)
                var (low, high) = (random.below(count), random.below(count))
                if high < low { swap(&low, &high) }
                let isDescending = random.oneIn(2)
                let isInclusive = random.oneIn(2)
                let (hasStart, hasEnd) = (random.oneIn(2), random.oneIn(2))
                let skip = random.below(random.oneIn(2) ? count + 10 : 30)
                let limit = random.oneIn(3) ? count : random.below(5)
                let first = isDescending ? high : low
                let last = isDescending ? low : high
                var query = "?skip=\(skip)&limit=\(limit)&descending=\(isDescending)"
                if hasStart { query += "&startkey=\"\(Self.id(first))\"" }
                if hasEnd { query += "&endkey=\"\(Self.id(last))\"&inclusive_end=\(isInclusive)" }
                if random.oneIn(3) { query += "&include_docs=true" }

                let all = isDescending ? Array((0..<count).reversed()) : Array(0..<count)
                let expected = all.filter { n in
                    if gone.contains(n) { return false }
                    if hasStart, isDescending ? n > first : n < first { return false }
                    guard hasEnd else { return true }
                    return n == last ? isInclusive : isDescending ? n > last : n < last
                }.dropFirst(skip).prefix(limit).map(Self.id)
                #expect(ids(query) == Array(expected), "\(query), seed \(Soak.seed)")
            }
        }
    }

    @Test func `design documents and those of a list are skipped, too`() throws {
        for name in ["a", "b", "c"] {
            try database.save(MutableDocument(id: DocumentID("_design/\(name)")))
        }
        try fill(5)
        let designs = site.send("GET", "/db/_design_docs?skip=1").json["rows"]?.array
        #expect(designs?.compactMap { $0["id"]?.string } == ["_design/b", "_design/c"])
        let keys = #"{"keys":["d100001","nobody","d100003"],"skip":2}"#
        let listed = site.send("POST", "/db/_all_docs", keys).json["rows"]?.array
        #expect(listed?.compactMap { $0["id"]?.string } == ["d100003"])
    }

    @Test func `skipping documents costs a small part of reading them`() throws {
        let count = 8_000
        try fill(count)
        func least(_ query: String) -> Duration {
            let times = (0..<3).map { _ in
                ContinuousClock().measure { _ = site.send("GET", "/db/_all_docs" + query) }
            }
            return times.min() ?? .zero
        }
        let reading = least("?limit=\(count / 2)")
        for order in ["", "&descending=true", "&startkey=\"a\""] {
            let skipping = least("?skip=\(count / 2)&limit=1" + order)
            #expect(skipping * 8 < reading, "\(order): \(skipping) of \(reading)")
        }
        // From the other end.
        #expect(least("?skip=\(count - 1)&limit=1") * 40 < reading)
    }
}
