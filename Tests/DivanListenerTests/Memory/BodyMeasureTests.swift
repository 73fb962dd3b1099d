// SPDX-License-Identifier: Apache-2.0

import DivanDatabase
import DivanHTTP
import DivanJSON
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

/// What a body would take, found before it is kept.
@Suite struct BodyMeasureTests {
    private func pieces(_ bytes: [UInt8], coding: String? = nil) throws -> BodyPieces {
        try BodyPieces(RequestBody.bytes(bytes).reader(), coding: coding)
    }

    private func measure(
        _ text: String, within limits: BodyMeasure.Limits = .init(bytes: .max)
    ) throws -> BodyMeasure {
        try BodyMeasure(pieces(Array(text.utf8)), within: limits)
    }

    /// The values in a value, itself included.
    private func count(_ value: JSONValue) -> Int {
        switch value {
        case .array(let elements): elements.reduce(1) { $0 + count($1) }
        case .object(let members): members.values.reduce(1) { $0 + count($1) }
        default: 1
        }
    }

    @Test(arguments: [
        "1", "[]", "{}", "[1,2,3]", #"{"a":[{},{}],"b":{"c":"x,[{y"}}"#, #"["\\",",",""]"#,
        #"[[[],[[]]],{"a":{}}]"#,
    ])
    func `no fewer values are counted than there are`(text: String) throws {
        let measure = try measure(text)
        #expect(measure.bytes == text.utf8.count)
        #expect(measure.values >= count(try JSONParser.parse(text)))
        #expect(measure.values <= 2 * count(try JSONParser.parse(text)) + 1)
    }

    @Test func `random texts are counted whole, wherever a piece ends`() throws {
        var random = SeededRandom(seed: 7)
        for _ in 0..<20 {
            var text = "["
            while text.utf8.count < 300_000 {
                text +=
                    [
                        "1,", "{},", #""a,[\"{\\","#, "[[],2],", #"{"k":[1,{"b":","}]},"#,
                    ][Int(random.below(5))]
            }
            text += "0]"
            let measure = try measure(text)
            #expect(measure.values >= count(try JSONParser.parse(text)))
        }
    }

    @Test func `of a list the longest element is found`() throws {
        let long = #"{"a":"\#(String(repeating: "x", count: 500))","b":[1,2,3,4,5,6]}"#
        let text = #"{"new_edits":false,"docs":[{"a":1},\#(long),{"a":2}]}"#
        let measure = try measure(text)
        #expect((long.utf8.count..<long.utf8.count + 5).contains(measure.longest))
        #expect((9..<14).contains(measure.mostValues))
        #expect((3..<7).contains(measure.elements))
    }

    @Test func `a body beyond its bytes or its values is refused`() throws {
        for limits in [
            BodyMeasure.Limits(bytes: 1_000), BodyMeasure.Limits(bytes: .max, values: 500),
        ] {
            let failure = #expect(throws: HTTPFailure.self) {
                _ = try measure("[" + String(repeating: "1,", count: 1_000) + "1]", within: limits)
            }
            #expect(failure?.status == 413)
        }
    }

    @Test func `gzip that decodes to more than a hundred times its length is refused`() throws {
        let bomb = try #require(GzipCoding.encode([UInt8](repeating: 0x20, count: 8 << 20)))
        let failure = #expect(throws: HTTPFailure.self) {
            _ = try BodyMeasure(pieces(bomb, coding: "gzip"), within: .init(bytes: .max))
        }
        #expect(failure?.status == 413)
        let fine = try #require(GzipCoding.encode([UInt8](repeating: 0x20, count: 900_000)))
        let measure = try BodyMeasure(pieces(fine, coding: "gzip"), within: .init(bytes: .max))
        #expect(measure.bytes == 900_000)
        #expect(try pieces(fine, coding: "gzip").all(measure.bytes).count == 900_000)
    }

    @Test func `gzip that is cut off or damaged is refused`() throws {
        let whole = try #require(GzipCoding.encode(Array("{\"a\":1}".utf8)))
        for bytes in [Array(whole.dropLast(3)), Array("plain".utf8)] {
            let failure = #expect(throws: HTTPFailure.self) {
                _ = try BodyMeasure(pieces(bytes, coding: "gzip"), within: .init(bytes: .max))
            }
            #expect(failure?.status == 400)
        }
        #expect(throws: HTTPFailure.self) { _ = try pieces([], coding: "br") }
    }
}
