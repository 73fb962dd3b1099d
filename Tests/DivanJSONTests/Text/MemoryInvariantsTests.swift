// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

@testable import DivanJSON

/// What reads and writes memory by pointers keeps to its bounds.
///
/// An array's bytes behind the end of a text belong to the same array: a read beyond the end would not trap, and is found by what
/// the reader makes of other bytes there.
@Suite struct MemoryInvariantsTests {
    @Test func `a sink holds what an array holds`() {
        for round in Soak.rounds(test: 500, soak: 100_000) {
            var random = Soak.random(round: round, salt: 0x51A)
            var sink = ByteSink(capacity: random.below(3))
            var reference: [UInt8] = []
            for _ in 0..<random.below(60) {
                let piece = (0..<random.below(random.oneIn(8) ? 400 : 9)).map { _ in
                    UInt8(truncatingIfNeeded: random.next())
                }
                switch random.below(5) {
                case 0:
                    sink.append(0x41)
                    reference.append(0x41)
                    continue
                case 1:
                    sink.append("null")
                    reference += Array("null".utf8)
                    continue
                case 2: piece.withUnsafeBufferPointer { sink.append($0) }
                case 3: sink.append(piece)
                default:
                    sink.reserve(piece.count)
                    sink.checkInvariants()
                    sink.write(piece.count) { target in
                        for (index, byte) in piece.enumerated() { target[index] = byte }
                        // As much rubbish as is allowed.
                        for index in 0..<ByteSink.slack { target[piece.count + index] = 0xEE }
                        return piece.count
                    }
                }
                reference += piece
                sink.checkInvariants()
            }
            #expect(Self.contents(of: sink) == reference, "round \(round)")
        }
    }

    private static func contents(of sink: borrowing ByteSink) -> [UInt8] {
        var array: [UInt8] = []
        sink.move(to: &array)
        return array
    }

    @Test func `tokens end within the text, whatever follows it`() {
        for round in Soak.rounds(test: 3_000, soak: 500_000) {
            var random = Soak.random(round: round, salt: 0x5CA)
            let text = Self.text(&random)
            let steps = (0..<12).map { _ in random.below(5) }
            let found = Self.tails.map { tail in Self.scan(text, tail, steps) }
            #expect(Set(found).count == 1, "round \(round)")
        }
    }

    @Test func `a text is packed within its bounds, whatever follows it`() {
        for round in Soak.rounds(test: 3_000, soak: 500_000) {
            var random = Soak.random(round: round, salt: 0x9AC)
            let text = Self.text(&random)
            let found = Self.tails.map { tail in
                let bytes = text + tail
                return PackedTextParser.pack(bytes.span.extracting(0..<text.count), depth: 50)
            }
            #expect(Set(found).count == 1, "round \(round)")
            guard let packed = found[0] else { continue }
            #expect(throws: Never.self) { try PackedValue(bytes: packed).checkInvariants() }
        }
        // What grows most as it is packed, up to the room that there is.
        for count in [1, 100, 500, 700, 900, 1_100, 2_000] {
            let texts = [
                "[" + repeatElement("1e23", count: count).joined(separator: ",") + "]",
                String(repeating: "[", count: count) + String(repeating: "]", count: count),
                "[" + repeatElement("{\"b\":{},\"a\":[]}", count: count).joined(separator: ",")
                    + "]",
            ]
            for text in texts {
                guard let packed = PackedTextParser.pack(Array(text.utf8).span, depth: 4_000) else {
                    continue
                }
                #expect(packed == (try? JSONParser.parse(text)).map { PackedValue($0).bytes })
            }
        }
    }

    @Test func `nodes lie within their limit, whatever the bytes are and what follows them`() {
        for round in Soak.rounds(test: 3_000, soak: 500_000) {
            var random = Soak.random(round: round, salt: 0x9AD)
            var bytes = PackedValue(RandomJSON.value(depth: 4, using: &random)).bytes
            if random.oneIn(3) { bytes = (0..<60).map { _ in Self.byte(&random) } }
            for _ in 0..<random.below(4) { bytes[random.below(bytes.count)] = Self.byte(&random) }
            let found = Self.tails.map { tail in
                (bytes + tail).withUnsafeBufferPointer { buffer in
                    let reader = PackedReader(UnsafeBufferPointer(rebasing: buffer[..<bytes.count]))
                    reader.checkInvariants()
                    return (0..<bytes.count).map { reader.node(at: $0, limit: bytes.count)?.end }
                }
            }
            #expect(Set(found).count == 1, "round \(round)")
        }
    }

    @Test func `a container has no more entries than bytes behind its table`() {
        // 17 entries in 17 bytes, of which the table takes one.
        let bytes: [UInt8] = [1, 0xEF, 17, 17, 15] + Array(repeating: 0x40, count: 16)
        bytes.withUnsafeBufferPointer { buffer in
            #expect(PackedReader(buffer).root == nil)
        }
    }

    // MARK: - Texts

    private static let tails: [[UInt8]] = [
        Array(repeating: 0x00, count: 16), Array("1111111111111111".utf8),
        Array("\"\"\"\"\"\"\"\"\"\"\"\"".utf8), Array(" e5,]}]}]}]}]}".utf8),
        Array(repeating: 0x80, count: 16),
    ]

    private static func byte(_ random: inout SeededRandom) -> UInt8 {
        random.oneIn(2)
            ? UInt8(truncatingIfNeeded: random.next())
            : random.element(of: [0, 1, 16, 17, 0x3F, 0x40, 0x83, 0xB0, 0xCF, 0xD0, 0xEF, 0xFF])
    }

    /// A text that is cut or damaged, most of the time.
    private static func text(_ random: inout SeededRandom) -> [UInt8] {
        let value = RandomJSON.value(depth: 4, using: &random)
        var text = Array(JSONWriter.string(value, pretty: random.oneIn(2)).utf8)
        if random.oneIn(2) { text.removeLast(random.below(text.count)) }
        for _ in 0..<random.below(3) {
            text[random.below(text.count)] = random.element(
                of: Array("{}[]\",:\\0129eE+-. tfn\u{E9}".utf8))
        }
        return text
    }

    /// Where tokens end that are read one after another, and which of them fail.
    private static func scan(_ text: [UInt8], _ tail: [UInt8], _ steps: [Int]) -> [Int] {
        (text + tail).withUnsafeBufferPointer { buffer in
            var scanner = JSONScanner(UnsafeBufferPointer(rebasing: buffer[..<text.count]))
            var ends: [Int] = []
            for step in steps {
                do throws(JSONParser.Failure) {
                    switch step {
                    case 0: scanner.skipWhitespace()
                    case 1 where scanner.current == 0x22: _ = try scanner.scanString()
                    case 2: _ = try scanner.scanNumber()
                    case 3: try scanner.skipLiteral("false")
                    default: if scanner.position < scanner.end { scanner.position += 1 }
                    }
                    ends.append(scanner.position)
                } catch { ends.append(-1 - error.offset) }
                scanner.checkInvariants()
            }
            return ends
        }
    }
}
