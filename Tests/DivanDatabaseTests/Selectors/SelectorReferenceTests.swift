// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

/// Selectors over packed bodies agree with a naive reading of the same JSON.
@Suite struct SelectorReferenceTests {
    @Test func `random selectors agree with the naive model`() throws {
        var matched = 0
        var asked = 0
        for round in Soak.rounds(test: 2_000, soak: 50_000) {
            var random = Soak.random(round: round, salt: 0x5E1E)
            let json = RandomSelector.selector(3, &random)
            let selector = try DocumentSelector(json: json)
            let reference = ReferenceSelector(json)
            for _ in 0..<10 {
                let document = JSONValue.object(RandomSelector.document(3, &random))
                let expected = reference.matches(document)
                let found = selector.matches(PackedValue(document), id: "x")
                #expect(found == expected, "round \(round): \(json) on \(document)")
                if expected { matched += 1 }
                asked += 1
            }
        }
        // The comparison would be worth little if nearly nothing, or nearly all, matched.
        #expect(matched > asked / 10 && matched < asked * 9 / 10)
    }
}
