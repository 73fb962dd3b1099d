// SPDX-License-Identifier: Apache-2.0

import DivanPlatform
import DivanTestSupport
import Testing

@testable import DivanJSON

/// Soak slices: 1.
struct PackedListTests {
    private struct Refusal: Error {}

    /// What a list should have, and marks with what it had then.
    private struct Model {
        var list = PackedList()
        var values: [JSONValue?] = []
        var marks: [(mark: PackedList.Mark, values: [JSONValue?], size: Int)] = []

        func check(_ round: Int) {
            #expect(list.count == values.count, "round \(round)")
            for (place, value) in values.enumerated() {
                let packed = list[place]
                #expect(packed?.bytes == value.map { PackedValue($0).bytes }, "round \(round)")
                #expect(packed?.jsonValue() == value, "round \(round)")
            }
        }
    }

    @Test func `a list has the values that were added, set and copied, each in its packed form`() {
        for round in Soak.rounds(test: 300, soak: 20_000) {
            var random = Soak.random(round: round, salt: 0x1157)
            var model = Model()
            if random.oneIn(2) { model.list.reserveCapacity(random.below(50)) }
            for _ in 0..<random.below(60) { change(&model, &random) }
            model.check(round)
        }
    }

    private func change(_ model: inout Model, _ random: inout SeededRandom) {
        let missing = model.values.indices.filter { model.values[$0] == nil }
        switch random.below(9) {
        case 0:
            let count = random.below(4)
            model.list.appendMissing(count)
            model.values += Array(repeating: nil, count: count)
        case 1, 2:
            let value = RandomJSON.value(depth: 3, using: &random)
            let body = PackedValue(["a": ["b": value], "list": [0, value]])
            let (steps, found): ([(name: String?, index: Int?)], JSONValue?) =
                switch random.below(4) {
                case 0: ([("a", nil), ("c", nil)], nil)
                case 1: ([("list", nil), (nil, 2)], nil)
                case 2: ([("list", nil), (nil, 1)], value)
                default: ([("a", nil), ("b", nil)], value)
                }
            body.withBytes { model.list.append(PackedPath(steps), of: $0) }
            model.values.append(found)
        case 3:
            let text = text(&random)
            model.list.append(text: text)
            model.values.append(.string(text))
        case 4:
            guard let place = missing.randomElement(using: &random) else { return }
            let value = [nil, false, true].randomElement(using: &random) ?? nil
            model.list.set(value, at: place)
            model.values[place] = value.map { .bool($0) } ?? .null
        case 5:
            guard let place = missing.randomElement(using: &random) else { return }
            let (text, size) = (text(&random), model.list.byteCount)
            // What could not be written leaves nothing behind.
            try? model.list.setText(at: place) { bytes throws(Refusal) in
                bytes += Array(text.utf8.prefix(3))
                throw Refusal()
            }
            #expect(model.list[place] == nil && model.list.byteCount == size)
            model.list.setText(at: place) { $0 += Array(text.utf8) }
            model.values[place] = .string(text)
        case 6:
            guard let place = missing.randomElement(using: &random) else { return }
            let source = random.below(model.values.count)
            model.list.copy(source, to: place)
            model.values[place] = model.values[source]
        case 7: model.marks.append((model.list.mark, model.values, model.list.byteCount))
        default:
            guard let (mark, values, size) = model.marks.popLast() else { return }
            // Values that were missing then must not have been set since.
            guard model.values.prefix(values.count) == values[...] else { return }
            model.list.removeAll(since: mark)
            model.values = values
            #expect(model.list.byteCount == size)
        }
    }

    /// A text of few bytes, or of a number at which its head changes.
    private func text(_ random: inout SeededRandom) -> String {
        let lengths = [0, 1, 62, 63, 64, 65, 318, 319, 320, 321, 65_535, 65_536]
        let length = random.oneIn(4) ? lengths[random.below(lengths.count)] : random.below(30)
        return String(repeating: "x", count: length)
    }

    @Test func `rows that are taken back leave those before them`() {
        var list = PackedList()
        list.append(text: "kept")
        for length in [3, 100] {
            let mark = list.mark
            list.appendMissing(2)
            list.setText(at: 1) { $0 += Array(repeating: 0x78, count: length) }
            list.copy(1, to: 2)
            #expect(list[2]?.string?.count == length)
            list.removeAll(since: mark)
            #expect(list.count == 1 && list[0]?.string == "kept")
        }
        list.append(text: "next")
        list.appendMissing(1)
        list.append(text: String(repeating: "large", count: 1_000))
        list.keep(1..<3)
        #expect(list.count == 2 && list[0]?.string == "next" && list[1] == nil)
        #expect(list.byteCount == 7)
    }

    @Test func `values of two lists are equal when they are the same or both missing`() {
        let values: [JSONValue?] = [nil, .null, 1, 1.0, "a", "b", [], [1], ["a": 1]]
        var (left, right) = (PackedList(), PackedList())
        right.append(text: "first")
        for value in values {
            let body = PackedValue(value.map { ["v": $0] } ?? [:])
            body.withBytes { left.append(PackedPath([("v", nil)]), of: $0) }
            body.withBytes { right.append(PackedPath([("v", nil)]), of: $0) }
        }
        for (place, value) in values.enumerated() {
            for (other, otherValue) in values.enumerated() {
                #expect(left.isEqual(place, to: right, other + 1) == (value == otherValue))
            }
        }
    }

    @Test func `a scalar of a key is the value that decoding the key gives`() throws {
        for round in Soak.rounds(test: 500, soak: 50_000) {
            var random = Soak.random(round: round, salt: 0x5CA1)
            let value = RandomJSON.value(depth: random.below(2), using: &random)
            for collation in Collation.allCases {
                let coder = RowKeyCoder(collation, strings: ICUCollator.root)
                var key: [UInt8] = []
                coder.append(value, to: &key)
                var list = PackedList()
                list.appendMissing(1)
                var offset = 0
                let isTold = try coder.decode(key.span, at: &offset, into: &list, at: 0)
                switch value {
                case .null, .bool, .string:
                    #expect(isTold && offset == key.count, "round \(round)")
                    #expect(list[0]?.jsonValue() == value, "round \(round)")
                default: #expect(!isTold && list[0] == nil, "round \(round)")
                }
                // Bytes that are cut off, or are no UTF-8, are refused and leave nothing.
                for end in 0..<key.count where isTold {
                    var (list, offset) = (PackedList(), 0)
                    list.appendMissing(1)
                    let cut = [UInt8](key[..<end])
                    let isRead = try? coder.decode(cut.span, at: &offset, into: &list, at: 0)
                    #expect(isRead == nil && list[0] == nil, "round \(round), \(end)")
                }
            }
        }
        var (list, offset) = (PackedList(), 0)
        list.appendMissing(1)
        let coder = RowKeyCoder(.raw, strings: ICUCollator.root)
        var key: [UInt8] = []
        coder.append(.string("ab"), to: &key)
        key[1] = 0xFF
        #expect(throws: RowKeyCoder.Failure.self) {
            try coder.decode(key.span, at: &offset, into: &list, at: 0)
        }
        #expect(list[0] == nil)
    }
}
