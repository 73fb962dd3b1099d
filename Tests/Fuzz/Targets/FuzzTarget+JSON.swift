// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanModel

extension FuzzTarget {
    static let json: [FuzzTarget] = [
        FuzzTarget(
            "json",
            seeds: [
                #"{"a":[1,-0.5e3,true,false,null,"x\u00e9\n"],"b":{"":{}}}"#, "[[[[]]]]", "1e400",
                #""\ud83d\ude00""#, "-9223372036854775808", "18446744073709551615", " \t\r\n0 ",
                #"{"a":1,"a":2}"#,
            ]
        ) { bytes in
            let tree = try? JSONParser.parse(bytes)
            let packed = try? PackedValue(parsing: bytes)
            require((tree == nil) == (packed == nil), "The parsers disagree.")
            guard let tree, let packed else { return }
            require(packed.jsonValue() == tree, "The packed form says something else.")
            require((try? packed.validate()) != nil, "The packed form is damaged.")
            var text: [UInt8] = []
            JSONWriter.append(tree, to: &text)
            require((try? JSONParser.parse(text)) == tree, "What was written reads otherwise.")
            var other: [UInt8] = []
            packed.appendJSON(to: &other)
            require((try? JSONParser.parse(other)) == tree, "What was packed is written otherwise.")
        },
        FuzzTarget(
            "packed",
            seeds: [
                PackedValue(["a": [1, 2.5, "text", .null, true], "b": ["c": -7]]),
                PackedValue("x"), PackedValue([]), PackedValue(1),
            ].map { $0.withBytes { span in (0..<span.count).map { span[$0] } } }
        ) { bytes in
            let value = PackedValue(bytes: bytes)
            _ = try? value.validate()
            _ = value["a"]?.jsonValue()
            _ = value.jsonValue()
            var text: [UInt8] = []
            value.appendJSON(to: &text)
        },
        FuzzTarget("revisions", seeds: ["1-a", "12-0123456789abcdef0123456789abcdef", "0-0", "1-"])
        {
            bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            let given = RevisionID(text)
            require(given.description == text, "The text of a revision ID changes.")
            let revision = try? RevisionID(validating: text)
            require(given.isValid == (revision != nil), "A text is a revision ID in one way only.")
            guard let revision else { return }
            let again = try? RevisionID(validating: revision.description)
            require(again == revision && given == revision, "A revision ID changes.")
        },
        FuzzTarget("trees", seeds: trees) { bytes in
            var offset = 0
            guard let tree = try? RevisionTree(decoding: bytes.span, at: &offset) else { return }
            var again: [UInt8] = []
            tree.encode(to: &again)
            offset = 0
            require(
                (try? RevisionTree(decoding: again.span, at: &offset)) == tree, "A tree changes.")
        },
        FuzzTarget(
            "dates", seeds: ["2026-11-21T01:04:05Z", "2026-11-21T01:04:05.123+02:00", "9999-12-31"]
        ) {
            bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            if let decoded = Base64.decode(text) {
                require(Base64.decode(Base64.encode(decoded)) == decoded, "Base64 changes.")
            }
            guard let date = ISO8601.parse(text) else { return }
            _ = ISO8601.format(millisecondsSince1970: date)
        },
    ]

    private static var trees: [[UInt8]] {
        let tree = RevisionTree()
        var bytes: [UInt8] = []
        tree.encode(to: &bytes)
        return [bytes, [1, 1, 0, 0], [2, 1, 97, 0, 0, 1, 98, 0, 0]]
    }
}
