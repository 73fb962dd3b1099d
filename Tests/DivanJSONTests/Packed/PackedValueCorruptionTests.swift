// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanTestSupport
import Testing

/// Soak slices: 4.
@Suite struct PackedValueCorruptionTests {
    /// Uses every reader on bytes that may be anything. That it returns is the test.
    private func readEverything(_ bytes: [UInt8], keys: [String]) {
        let value = PackedValue(bytes: bytes)
        let isSound = (try? value.validate()) != nil
        let unpacked = value.jsonValue()
        var text: [UInt8] = []
        value.appendJSON(to: &text)
        CanonicalJSON.append(body: value, to: &text)
        _ = CanonicalJSON.unknownReservedKey(in: value)
        for key in keys {
            _ = value[key]?.kind
            _ = PackedValue.int64(in: bytes.span, key: key)
            _ = PackedValue.double(in: bytes.span, key: key)
            _ = PackedValue.equals(in: bytes.span, key: key, "x")
            _ = PackedValue.withString(in: bytes.span, key: key) { _ in }
        }
        for index in [0, 1, 15, 16, 17, 40, value.count - 1] { _ = value[index]?.jsonText }
        _ = (
            value.kind, value.bool, value.int64, value.unsigned, value.double, value.string,
            value.keys
        )
        value.forEachProperty { _, nested in _ = nested.count }
        value.forEachElement { nested in _ = nested.bytes }
        // What is declared sound must be whole.
        if isSound { #expect(PackedValue(unpacked).jsonValue() == unpacked) }
    }

    @Test func `random bytes never crash a reader`() {
        for round in Soak.rounds(test: 3000, soak: 1_000_000) {
            var random = Soak.random(round: round, salt: 21)
            var bytes = (0..<random.below(64)).map { _ in UInt8.random(in: 0...255, using: &random)
            }
            if !bytes.isEmpty, random.oneIn(2) { bytes[0] = 1 }
            if bytes.count > 1, random.oneIn(2) { bytes[1] |= 0xC0 }
            readEverything(bytes, keys: ["", "a", "name"])
        }
    }

    @Test func `mutated bytes never crash a reader`() throws {
        var samples: [(bytes: [UInt8], keys: [String])] = []
        var random = SeededRandom(seed: 5)
        for count in [3, 17, 40, 300] {
            var object = JSONObject()
            for index in 0..<count {
                object["key\(index)"] = RandomJSON.value(depth: 2, using: &random)
            }
            samples.append((PackedValue(.object(object)).bytes, ["key0", "key16", "key39", "zzz"]))
            samples.append((PackedValue(.array(object.values)).bytes, ["a"]))
        }
        for round in Soak.rounds(test: 1500, soak: 1_000_000) {
            var random = Soak.random(round: round, salt: 22)
            var sample = random.element(of: samples)
            for _ in 0...random.below(4) {
                let place =
                    random.oneIn(2)
                    ? random.below(min(24, sample.bytes.count)) : random.below(sample.bytes.count)
                switch random.below(4) {
                case 0: sample.bytes[place] ^= 1 << UInt8(random.below(8))
                case 1:
                    sample.bytes[place] =
                        [0, 1, 0x7F, 0x80, 0xCF, 0xD0, 0xFF].randomElement(using: &random) ?? 0
                case 2: sample.bytes.removeSubrange(place...)
                default: sample.bytes[place] = UInt8.random(in: 0...255, using: &random)
                }
                if sample.bytes.isEmpty { break }
            }
            readEverything(sample.bytes, keys: sample.keys)
        }
    }

    @Test func `mutated texts are taken alike by both parsers`() throws {
        let texts = [
            #"{"name":"Ann","age":30,"tags":["a","b\n\u00e9"],"n":-1.5e3,"x":{"b":null,"a":true}}"#,
            "{\"\u{E9}\":\"\u{4E2D}\u{1F600}\",\"longer than eight\":12345678901234567890,"
                + "\"a\":[[],{}]}",
        ].map { Array($0.utf8) }
        for round in Soak.rounds(test: 5000, soak: 1_000_000) {
            var random = Soak.random(round: round, salt: 23)
            var text = random.element(of: texts)
            for _ in 0...random.below(3) {
                let place = random.below(text.count)
                switch random.below(3) {
                case 0: text[place] = random.element(of: Array("{}[]\",:\\0129eE+-. \u{E9}".utf8))
                case 1: text.remove(at: place)
                default: text.insert(text[random.below(text.count)], at: place)
                }
            }
            do {
                let value = try JSONParser.parse(text)
                #expect(try PackedValue(parsing: text) == PackedValue(value))
            } catch {
                #expect(throws: error) { try PackedValue(parsing: text) }
            }
        }
    }

    @Test func `each corruption is found by validation`() {
        let cases: [([UInt8], String)] = [
            ([], "There are no bytes."), ([2, 0x80], "The version is unknown."),
            ([1], "No value fits here."), ([1, 0x89], "No value fits here."),
            ([1, 0x80, 0x80], "More bytes follow the value."),
            ([1, 2, 0x61], "No value fits here."),
            ([1, 1, 0xFF], "The text is not valid UTF-8."),
            ([1, 0xE1, 2, 0x40, 0x40], "More bytes follow the last entry."),
            ([1, 0xC2, 6, 1, 0x62, 0x40, 1, 0x61, 0x40], "Keys are out of order."),
            ([1, 0xC2, 6, 1, 0x61, 0x40, 1, 0x61, 0x40], "Keys are out of order."),
            ([1, 0xC1, 2, 0x40, 0x40], "A key is missing."),
            ([1, 0xA0, 0x7F, 1], "The number is out of its bounds."),
            ([1, 0x87, 1, 0x78], "The number is out of its bounds."),
            ([1, 0x83, 0, 0, 0, 0, 0, 0, 0xF0, 0x7F], "The number is out of its bounds."),
            (
                [1, 0xEF, 17, 18, 15] + Array(repeating: 0x40, count: 17),
                "The offset table is wrong."
            ),
        ]
        for (bytes, message) in cases {
            let error = #expect(throws: PackedValue.Corruption.self) {
                try PackedValue(bytes: bytes).validate()
            }
            #expect(error?.message == message, "\(bytes)")
        }
    }

    @Test func `nesting without end is cut off`() {
        // Arrays of one element with a size of four bytes, each inside the one before.
        var bytes: [UInt8] = []
        for _ in 0..<50_000 {
            let size = UInt32(bytes.count)
            let head: [UInt8] = [
                UInt8(truncatingIfNeeded: size >> 24), UInt8(truncatingIfNeeded: size >> 16),
                UInt8(truncatingIfNeeded: size >> 8), UInt8(truncatingIfNeeded: size), 0, 0, 0, 1,
                0xF0,
            ]
            bytes += bytes.isEmpty ? [0x40] : head
        }
        bytes.append(1)
        bytes.reverse()
        let value = PackedValue(bytes: bytes)
        #expect(throws: PackedValue.Corruption.self) { try value.validate() }
        #expect(value.jsonValue().isNested(atMost: 1024))
        #expect(!value.jsonText.isEmpty)
    }
}
