// SPDX-License-Identifier: Apache-2.0

import DivanModel
import Testing

@Suite struct RevisionHistoryTests {
    @Test func `digests count down from the start`() throws {
        let history = try RevisionHistory(start: 5, digests: ["e", "d", "c"])
        #expect(history.ids.map(\.description) == ["5-e", "4-d", "3-c"])
        #expect(history.newest.description == "5-e")
        #expect(history.oldest.description == "3-c")
    }

    @Test(arguments: [[], ["2-b", "2-a"], ["2-b", "3-c"], ["4-d", "2-b"]])
    func `generations must descend one by one`(texts: [String]) throws {
        let ids = try texts.map { try RevisionID(validating: $0) }
        #expect(throws: IDFailure.brokenHistory) { try RevisionHistory(ids) }
    }

    @Test func `more digests than generations are refused`() {
        #expect(throws: IDFailure.brokenHistory) {
            try RevisionHistory(start: 1, digests: ["b", "a"])
        }
        #expect(throws: IDFailure.brokenHistory) { try RevisionHistory(start: 3, digests: []) }
        #expect(throws: IDFailure.digestLengthOutOfRange) {
            try RevisionHistory(start: 3, digests: [""])
        }
    }

    @Test func `a limit stems while parsing, and does not look at the rest`() throws {
        let digests = ["e", "d"] + [String](repeating: "", count: 3)
        let history = try RevisionHistory(start: 5, digests: digests, limit: 2)
        #expect(history.ids.map(\.description) == ["5-e", "4-d"])
    }

    @Test func `stemming keeps the newest`() throws {
        var history = try RevisionHistory(start: 3, digests: ["c", "b", "a"])
        history.stem(to: 5)
        #expect(history.ids.count == 3)
        history.stem(to: 1)
        #expect(history.ids.map(\.description) == ["3-c"])
    }
}
