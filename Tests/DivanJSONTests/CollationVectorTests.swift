// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanTestSupport
import Testing

/// The order that Couchbase Lite 1.4 has, and where the Unicode root collation departs from it.
@Suite struct CollationVectorTests {
    /// The values of a file in their order, each with the sign that was recorded for its comparison
    /// with the one before.
    private func recorded(_ name: String) throws -> [(value: JSONValue, sign: Int?)]? {
        try SharedFolder.lines(of: "vectors/\(name).jsonl")?.map { line in
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
            let sign = fields.count > 1 ? Int(fields[1]) : nil
            return (try JSONParser.parse(String(fields[0])), sign)
        }
    }

    @Test(arguments: [Collation.raw, .ascii])
    func `orders by bytes as Couchbase Lite recorded them`(_ collation: Collation) throws {
        let order = CollationSamples.order(collation)
        let values = try recorded("collate_\(collation.rawValue)")
        guard let values else { return }
        #expect(values.count == 165)
        for (previous, next) in zip(values, values.dropFirst()) {
            let sign = try #require(next.sign)
            #expect(order.collatesAsEqual(previous.value, next.value) == (sign == 0))
            #expect(order.compare(previous.value, next.value) < 0)
        }
    }

    @Test(arguments: ["collate_unicode", "view_order"])
    func `orders by language as Couchbase Lite recorded but for three strings`(
        _ name: String
    ) throws {
        let order = CollationSamples.order(.unicode)
        guard let values = try recorded(name)?.map(\.value) else { return }
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
