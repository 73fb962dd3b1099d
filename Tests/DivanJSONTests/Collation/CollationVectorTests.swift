// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanTestSupport
import Testing

/// The order that Couchbase Lite 1.4 has, and where Divan departs from it.
@Suite struct CollationVectorTests {
    /// The values of a file in their order, each with the sign that was recorded for its comparison
    /// with the one before.
    private func recorded(_ name: String) throws -> [(value: JSONValue, sign: Int?)] {
        try #require(SharedFolder.lines(of: "vectors/\(name).jsonl")).map { line in
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
            let sign = fields.count > 1 ? Int(fields[1]) : nil
            return (try JSONParser.parse(String(fields[0])), sign)
        }
    }

    /// Couchbase Lite compares bytes as signed numbers: where two texts part, what is beyond ASCII
    /// stood before ASCII, and stands behind it here. All else is as it was recorded.
    @Test(
        .enabled(if: Machine.hasShared("vectors"), "It needs ../shared/vectors."),
        arguments: [Collation.raw, .ascii])
    func `orders by bytes as Couchbase Lite recorded but for the sign of a byte`(
        _ collation: Collation
    ) throws {
        let order = CollationSamples.order(collation)
        let values = try recorded("collate_\(collation.rawValue)")
        #expect(values.count == 165)
        var turned = 0
        for (previous, next) in zip(values, values.dropFirst()) {
            let sign = try #require(next.sign)
            let isTurned = Self.partsBeyondASCII(previous.value, next.value)
            turned += isTurned ? 1 : 0
            #expect(order.collatesAsEqual(previous.value, next.value) == (sign == 0))
            #expect((order.compare(previous.value, next.value) < 0) == !isTurned)
        }
        #expect(turned == 6)
    }

    /// Whether two texts part at a byte beyond ASCII in the first and one of ASCII in the second.
    private static func partsBeyondASCII(_ first: JSONValue, _ second: JSONValue) -> Bool {
        guard let first = first.string, let second = second.string else { return false }
        return zip(first.utf8, second.utf8).first { $0 != $1 }.map { $0 >= 0x80 && $1 < 0x80 }
            ?? false
    }

    @Test(arguments: [Collation.raw, .ascii])
    func `by bytes all texts that begin alike lie in one range`(_ collation: Collation) {
        let order = CollationSamples.order(collation)
        let words: [JSONValue] = ["caf", "cafe", "caf\u{E9}", "caf\u{1F600}", "cag"]
        #expect(words.sorted { order.compare($0, $1) < 0 } == words)
        let end: JSONValue = "caf\u{10FFFF}"
        let found = words.filter { order.compare("caf", $0) <= 0 && order.compare($0, end) <= 0 }
        #expect(found == Array(words.dropLast()))
    }

    @Test(
        .enabled(if: Machine.hasShared("vectors"), "It needs ../shared/vectors."),
        arguments: ["collate_unicode", "view_order"])
    func `orders by language as Couchbase Lite recorded but for three strings`(
        _ name: String
    ) throws {
        let order = CollationSamples.order(.unicode)
        let values = try recorded(name).map(\.value)
        let common = values.filter { !CollationVectorTests.moved.contains($0) }
        #expect(common.count == values.count - 3)
        for (previous, next) in zip(common, common.dropFirst()) {
            #expect(order.compare(previous, next) < 0, "\(previous) before \(next)")
        }
    }

    /// The strings that stand elsewhere in the root collation. Couchbase Lite's table has both
    /// accents right after the spaces, where an older Unicode had them, and compares texts beyond
    /// ASCII as if symbols came last.
    static let moved: Set<JSONValue> = ["`", "^", "\u{1F600}"]

    @Test func `moved strings stand among the symbols`() {
        let order = CollationSamples.order(.unicode)
        let sorted: [JSONValue] = [
            "_", "&", "#", "%", "`", "^", "+", "|", "~", "\u{1F600}", "$", "0",
        ]
        for (previous, next) in zip(sorted, sorted.dropFirst()) {
            #expect(order.compare(previous, next) < 0, "\(previous) before \(next)")
        }
    }
}
