// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

@testable import DivanCommand

/// Cuts `text` into chunks of `size` bytes and collects what the splitter makes of them.
func split(
    _ text: String, by splitter: any RecordSplitter, chunk size: Int = 1 << 16
) throws -> [SplitRecord] {
    var splitter = splitter
    var records: [SplitRecord] = []
    let bytes = [UInt8](text.utf8)
    let take: RecordTaker = { bytes, location in
        var copy: [UInt8] = []
        for i in bytes.indices { copy.append(bytes[i]) }
        records.append(
            SplitRecord(
                text: String(decoding: copy, as: UTF8.self), number: location.number,
                line: location.line, isTooLong: location.isTooLong))
    }
    for start in stride(from: 0, to: bytes.count, by: size) {
        let chunk = Array(bytes[start..<min(start + size, bytes.count)])
        try splitter.consume(chunk.span, take)
    }
    try splitter.finish(take)
    return records
}

struct SplitRecord: Equatable {
    var text: String
    var number: Int
    var line: Int
    var isTooLong = false
}

@Suite struct LineSplitterTests {
    @Test(arguments: [1, 2, 3, 7, 1000])
    func `each line is a record and blank lines are none`(_ chunk: Int) throws {
        let text = "{\"a\":1}\n\n  \r\n{\"b\":2}\r\n [3] \nlast"
        let records = try split(text, by: LineSplitter(), chunk: chunk)
        #expect(
            records == [
                SplitRecord(text: "{\"a\":1}", number: 1, line: 1),
                SplitRecord(text: "{\"b\":2}", number: 2, line: 4),
                SplitRecord(text: "[3]", number: 3, line: 5),
                SplitRecord(text: "last", number: 4, line: 6),
            ])
    }

    @Test func `empty input has no records`() throws {
        #expect(try split("", by: LineSplitter()).isEmpty)
        #expect(try split("\n\n", by: LineSplitter()).isEmpty)
    }

    @Test(arguments: [1, 4, 100])
    func `a line beyond the limit is reported and the next is whole`(_ chunk: Int) throws {
        let text = "123456789\n12345678\n1"
        let records = try split(text, by: LineSplitter(limit: 8), chunk: chunk)
        #expect(records.map(\.isTooLong) == [true, false, false])
        #expect(records.map(\.text) == ["", "12345678", "1"])
    }
}

@Suite struct ElementSplitterTests {
    @Test(arguments: [1, 2, 3, 5, 11, 1000])
    func `elements are cut at the array's own commas`(_ chunk: Int) throws {
        let text = "[ {\"a\":[1,2,\"],[\"]},\n\n {\"b\\\"\":{\"c\":[]}} ,3,\"x,y\"\n]\n"
        let records = try split(text, by: ElementSplitter(), chunk: chunk)
        #expect(
            records == [
                SplitRecord(text: "{\"a\":[1,2,\"],[\"]}", number: 1, line: 1),
                SplitRecord(text: "{\"b\\\"\":{\"c\":[]}}", number: 2, line: 3),
                SplitRecord(text: "3", number: 3, line: 3),
                SplitRecord(text: "\"x,y\"", number: 4, line: 3),
            ])
    }

    @Test(arguments: ["[]", " [ \n ] "])
    func `an empty array has no records`(_ text: String) throws {
        #expect(try split(text, by: ElementSplitter()).isEmpty)
    }

    @Test(arguments: [1, 1000])
    func `a broken element is a record of its own`(_ chunk: Int) throws {
        let text = #"[{"a":1}}, nonsense,, {"b" 2}, {"c":3},]"#
        let records = try split(text, by: ElementSplitter(), chunk: chunk)
        #expect(
            records.map(\.text) == [#"{"a":1}}"#, "nonsense", "", #"{"b" 2}"#, #"{"c":3}"#, ""])
    }

    @Test func `a lost quotation mark spoils no further line`() throws {
        let text = "[\n{\"a\": \"x},\n{\"b\": 2}\n]"
        let records = try? split(text, by: ElementSplitter())
        // Its own brace is lost in the string, so the array cannot be seen to end.
        #expect(records == nil)
        let healed = try split("[\n{\"a\": \"x\n},\n{\"b\": 2}\n]", by: ElementSplitter())
        #expect(healed.map(\.text) == ["{\"a\": \"x\n}", "{\"b\": 2}"])
    }

    @Test(arguments: [
        ("[{\"a\":1},", "Line 1: the input ends inside the array, after record 1."),
        ("[{\"a\":1},\n{", "Line 2: the input ends inside the array, after record 1."),
        ("", "Line 1: the input is empty: an array is expected."),
        ("{}", "Line 1: the input does not begin with \"[\", as an array does."),
        ("[1] [2]", "Line 1: there is more input after the end of the array."),
    ])
    func `a broken frame is an error`(_ text: String, _ expected: String) {
        #expect {
            try split(text, by: ElementSplitter())
        } throws: { error in
            (error as? SplitFailure)?.description == expected
        }
    }

    @Test(arguments: [1, 2, 7, 1000])
    func `keys lead to an array inside objects`(_ chunk: Int) throws {
        let text = #"""
            {"x": [{"data": [9]}], "d": "data", "data": {"n": 1, "it\u0065ms": [ {"a": 1}, 2 ],
             "more": [3]}, "data": {"items": [4]}}
            """#
        let splitter = ElementSplitter(path: [["data"], ["items"]])
        let records = try split(text, by: splitter, chunk: chunk)
        #expect(records.map(\.text) == [#"{"a": 1}"#, "2"])
    }

    @Test(arguments: [
        (#"{"a": {"b": []}}"#, "Line 1: what the input has at \"a\" is not an array."),
        (#"{"a": "text"}"#, "Line 1: what the input has at \"a\" is not an array."),
        (#"{"a": 5, "b": []}"#, "Line 1: what the input has at \"a\" is not an array."),
        (#"{"b": []}"#, "Line 1: the input has not an array \"a\"."),
        (#"{"a""#, "Line 1: the input ends before an array \"a\" begins."),
        (
            #"[{"a": []}]"#,
            "Line 1: the input does not begin with \"{\", as an object with an array \"a\" does."
        ),
        (#"{"a": [1], "b": {"#, "Line 1: the input ends before its last bracket."),
    ])
    func `a path that does not lead to an array is an error`(_ text: String, _ expected: String) {
        #expect {
            try split(text, by: ElementSplitter(path: [["a"]]))
        } throws: { error in
            (error as? SplitFailure)?.description == expected
        }
    }

    @Test func `an element beyond the limit is reported and the next is whole`() throws {
        let text = "[\"\(String(repeating: "x", count: 100))\", 1, 2]"
        let records = try split(text, by: ElementSplitter(limit: 50), chunk: 16)
        #expect(records.map(\.isTooLong) == [true, false, false])
        #expect(records.map(\.text) == ["", "1", "2"])
    }

    @Test func `random arrays come apart as they were put together`() throws {
        for round in Soak.rounds(test: 400, soak: 100_000) {
            var random = Soak.random(round: round, salt: 62)
            let elements = (0..<random.below(21)).map { _ in
                Self.randomElement(depth: 3, &random)
            }
            let space = ["", " ", "\n", " \n\t"].randomElement(using: &random) ?? ""
            let text = "[" + elements.map { space + $0 + space }.joined(separator: ",") + "]"
            let chunk = Int.random(in: 1...40, using: &random)
            let found = try split(text, by: ElementSplitter(), chunk: chunk).map(\.text)
            #expect(found == elements, "seed \(Soak.seed), round \(round)")
        }
    }

    private static func randomElement(
        depth: Int, _ random: inout SeededRandom
    ) -> String {
        switch Int.random(in: 0...(depth > 0 ? 4 : 2), using: &random) {
        case 0: return String(Int.random(in: -99...99, using: &random))
        case 1: return #""\"[]{},:\\""#
        case 2: return "true"
        case 3: return "[" + randomElement(depth: depth - 1, &random) + ", {}]"
        default:
            return "{\"k\": " + randomElement(depth: depth - 1, &random) + ", \"]\": ["
                + randomElement(depth: depth - 1, &random) + "]}"
        }
    }
}

@Suite struct ValueSplitterTests {
    @Test(arguments: [1, 3, 1000])
    func `objects may follow each other over any number of lines`(_ chunk: Int) throws {
        let text = "{\n \"a\": 1\n}\n{\"b\": \"}{\"} {\"c\":[\n]}\nnull\n{}"
        let records = try split(text, by: ValueSplitter(), chunk: chunk)
        #expect(
            records.map(\.text) == [
                "{\n \"a\": 1\n}", "{\"b\": \"}{\"}", "{\"c\":[\n]}", "null", "{}",
            ])
        #expect(records.map(\.line) == [1, 4, 4, 6, 7])
    }

    @Test func `a cut end is an error`() {
        #expect(throws: SplitFailure(line: 2, message: "the input ends inside record 2.")) {
            try split("{}\n{\"a\":", by: ValueSplitter())
        }
    }

    @Test func `a brace too many is a record of its own`() throws {
        #expect(try split("}\n{}", by: ValueSplitter()).last?.text == "{}")
    }
}
