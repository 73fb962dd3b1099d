// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanPlatform
import DivanTestSupport
import Testing

@Suite struct CollationRowKeyTests {
    private func key(_ value: JSONValue, _ collation: Collation = .unicode) -> [UInt8] {
        CollationSamples.key(value, collation)
    }

    private func order(_ left: [UInt8], _ right: [UInt8]) -> Int {
        left.lexicographicallyPrecedes(right) ? -1 : left == right ? 0 : 1
    }

    @Test(arguments: Collation.allCases)
    func `bytes order as values collate, and decode to them`(_ collation: Collation) throws {
        let (values, coder) = (CollationSamples.order(collation), CollationSamples.coder(collation))
        for round in Soak.rounds(test: 2_000, soak: 200_000) {
            var generator = Soak.random(round: round, salt: 2)
            let left = RandomJSON.value(using: &generator)
            let right =
                Bool.random(using: &generator)
                ? RandomJSON.variation(of: left, using: &generator)
                : RandomJSON.value(using: &generator)
            let (leftKey, leftForms) = CollationSamples.encoding(left, collation)
            let (rightKey, rightForms) = CollationSamples.encoding(right, collation)
            try #require(
                order(leftKey, rightKey) == values.collate(left, right).signum(),
                "\(String(reflecting: left)) and \(String(reflecting: right))")
            let isIdentical = leftKey == rightKey && leftForms == rightForms
            try #require(isIdentical == (left == right))
            let plain = try coder.decode(leftKey.span)
            try #require(values.collatesAsEqual(plain, left))
            try #require((plain == left) == leftForms.isEmpty)
            try #require(try coder.restoring(plain, leftForms.span) == left)
        }
    }

    @Test(arguments: Collation.allCases)
    func `the exact order goes on where values collate as equal`(_ collation: Collation) throws {
        let values = CollationSamples.order(collation)
        for round in Soak.rounds(test: 2_000, soak: 200_000) {
            var generator = Soak.random(round: round, salt: 8)
            let left = RandomJSON.value(using: &generator)
            let right = RandomJSON.variation(of: left, using: &generator)
            let (exact, collated) = (values.compare(left, right), values.collate(left, right))
            try #require((exact == 0) == (left == right))
            try #require(collated == 0 || exact.signum() == collated.signum())
            try #require(values.compare(right, left).signum() == -exact.signum())
        }
    }

    @Test(arguments: Collation.allCases)
    func `packed values compare and encode as unpacked ones do`(_ collation: Collation) throws {
        let (values, coder) = (CollationSamples.order(collation), CollationSamples.coder(collation))
        for round in Soak.rounds(test: 2_000, soak: 200_000) {
            var generator = Soak.random(round: round, salt: 7)
            let left = RandomJSON.value(using: &generator)
            let right = RandomJSON.variation(of: left, using: &generator)
            let (leftPacked, rightPacked) = (PackedValue(left), PackedValue(right))
            try #require(
                values.compare(leftPacked, rightPacked).signum()
                    == values.compare(left, right).signum())
            try #require(
                values.collate(leftPacked, rightPacked).signum()
                    == values.collate(left, right).signum())
            var (bytes, forms): ([UInt8], NumberForms) = ([], NumberForms())
            coder.append(leftPacked, to: &bytes, &forms)
            try #require((bytes, forms.bytes) == CollationSamples.encoding(left, collation))
            var alone: [UInt8] = []
            coder.append(leftPacked, to: &alone)
            try #require(alone == bytes)
        }
    }

    @Test(arguments: Collation.allCases)
    func `the order is transitive`(_ collation: Collation) {
        var generator = Soak.random(round: 0, salt: 3)
        let values = CollationSamples.order(collation)
        let sorted = (0..<300)
            .map { _ in RandomJSON.value(depth: 1, using: &generator) }
            .sorted { key($0, collation).lexicographicallyPrecedes(key($1, collation)) }
        for (index, left) in sorted.enumerated() {
            for right in sorted[index...] { #expect(values.collate(left, right) <= 0) }
        }
    }

    @Test(arguments: Collation.allCases)
    func `the beginning of an array is the beginning of its bytes`(_ collation: Collation) {
        let coder = CollationSamples.coder(collation)
        for round in Soak.rounds(test: 200, soak: 20_000) {
            var generator = Soak.random(round: round, salt: 4)
            let items = (0..<4).map { _ in RandomJSON.value(depth: 2, using: &generator) }
            for count in 0...4 {
                var prefix: [UInt8] = []
                coder.appendPrefix(of: items[..<count], to: &prefix)
                #expect(key(.array(items), collation).starts(with: prefix))
                #expect(key(.array(Array(items[..<count])), collation) == prefix + [0])
                // No other value begins so.
                let other = RandomJSON.variation(of: .array(items), using: &generator)
                var begins = false
                if case .array(let found) = other, found.count >= count {
                    let order = CollationSamples.order(collation)
                    begins = zip(found, items).prefix(count).allSatisfy(order.collatesAsEqual)
                }
                #expect(key(other, collation).starts(with: prefix) == begins)
            }
        }
    }

    @Test(arguments: Collation.allCases)
    func `no encoding is the beginning of another`(_ collation: Collation) {
        for round in Soak.rounds(test: 2_000, soak: 200_000) {
            var generator = Soak.random(round: round, salt: 5)
            let left = RandomJSON.value(using: &generator)
            let right = RandomJSON.variation(of: left, using: &generator)
            let (leftKey, rightKey) = (key(left, collation), key(right, collation))
            #expect(leftKey == rightKey || !rightKey.starts(with: leftKey))
        }
    }

    @Test func `the documented bytes are these`() {
        #expect(key(nil) == [0x10])
        #expect(key(false) == [0x20])
        #expect(key(true) == [0x30])
        #expect(key(34) == [0x40, 0xC0, 0x41, 0, 0, 0, 0, 0, 0, 0x10])
        #expect(key(34.5) == [0x40, 0xC0, 0x41, 0x40, 0, 0, 0, 0, 0, 0x10])
        #expect(key(-1) == [0x40, 0x40, 0x0F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x10])
        #expect(key(-0.0) == [0x40, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x10])
        #expect(
            key(9_007_199_254_740_993) == [
                0x40, 0xC3, 0x40, 0, 0, 0, 0, 0, 0, 0x80, 0x80, 0, 0, 0, 0, 0, 0, 16,
                91, 8, 20, 93, 55, 75, 10, 94, 0,
            ])
        #expect(key([nil, []]) == [0x60, 0x10, 0x60, 0x00, 0x00])
        #expect(key("a\0", .ascii) == [0x50, 0x61, 0x01, 0x01, 0x00])
        #expect(key("\u{80}", .ascii) == [0x50, 0xC2, 0x80, 0x00])
        #expect(key(["a": true], .raw) == [0x50, 0x70, 0x61, 0x00, 0x40, 0x00])
    }

    @Test func `numbers that are equal have one key, and forms that tell them apart`() throws {
        func forms(_ value: JSONValue) -> [UInt8] { CollationSamples.encoding(value).forms }
        func big(_ text: String) throws -> JSONValue { .number(try #require(BigNumber(text))) }
        #expect(key([34]) == key([34.0]))
        #expect(key(0) == key(-0.0))
        #expect(key(.double(0x1p64)) == key(try big("18446744073709551616")))
        #expect(key(try big("1e400")) == key(try big("10e399")))
        // What is plain needs no form.
        for plain: JSONValue in [
            34, -1, 34.5, .unsigned(.max), "a", nil, [1, 2.5], .integer(.min),
        ] {
            #expect(forms(plain) == [])
        }
        #expect(forms(try big("1e400")) == [])
        #expect(forms(try big("18446744073709551617")) == [])
        // The number of plain ones before it, times four, and the form.
        #expect(forms(34.0) == [0])
        #expect(forms(-0.0) == [1])
        #expect(forms([1, 2, 3.0, ["a": 4, "b": 5.0], -0.0]) == [8, 4, 1])
        #expect(forms([.double(0x1p63), "x", 1.0]) == [0, 0])
        #expect(forms(try big("1E400")) == [2, 5] + Array("1E400".utf8))
        #expect(forms(.array(Array(repeating: 1, count: 32) + [1.0])) == [0x80, 0x01])
    }

    @Test func `a text that its sort key tells is nothing but that`() throws {
        let coder = CollationSamples.coder(.unicode)
        for text in [
            "a", "Divan 2026", "O'Hara, Jane <jane@example.org>",
            String(repeating: "aB", count: 48),
        ] {
            var sortKey: [UInt8] = []
            ICUCollator.root.appendSortKey(of: Array(text.utf8).span, to: &sortKey)
            #expect(key(.string(text)) == [0x50] + sortKey + [0x00, 0x00])
            #expect(try coder.decode(key(.string(text)).span) == .string(text))
        }
    }

    @Test func `a string whose sort key does not tell it is both`() {
        var sortKey: [UInt8] = []
        ICUCollator.root.appendSortKey(of: Array("caf\u{E9}\0".utf8).span, to: &sortKey)
        let text = Array("caf\u{E9}".utf8) + [0x01, 0x01]
        #expect(key("caf\u{E9}\0") == [0x50] + sortKey + [0x00, 0x01] + text + [0x00])
    }

    @Test func `deep values survive up to the limit and fail beyond`() throws {
        let coder = CollationSamples.coder(.unicode)
        func nested(_ depth: Int) -> JSONValue {
            (1...depth).reduce("deep") { value, level in level % 2 == 0 ? ["k": value] : [value] }
        }
        let deepest = nested(RowKeyCoder.maximumDepth)
        #expect(try coder.decode(key(deepest).span) == deepest)
        #expect(throws: RowKeyCoder.Failure.self) {
            try coder.decode(key(nested(RowKeyCoder.maximumDepth + 1)).span)
        }
    }

    @Test func `a value is read from the beginning of longer bytes`() throws {
        let bytes = key(["a", 1]) + Array("document".utf8)
        var offset = 0
        let value = try CollationSamples.coder(.unicode).decode(bytes.span, at: &offset)
        #expect(value == ["a", 1])
        #expect(bytes[offset...].elementsEqual("document".utf8))
    }
}
