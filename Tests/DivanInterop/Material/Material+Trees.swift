// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport

extension Material {
    /// Documents whose IDs look for trouble.
    static let identifiers: [RevisionText] =
        ([
            "a/b", "a//b", "/a", "a/", "/", "a+b", "+", "a b", " a", "a ", " ", "a%2Fb", "%",
            "100%", "%00",
            "a?b=c", "a#b", "a&b=c", "a=b", "\u{E9}", "e\u{301}", "\u{301}a", "\u{1F600}",
            "\u{1F468}\u{200D}\u{1F469}", "\u{10FFFF}", "\u{FFFE}", "a\nb", "\t", "\u{1}", "\u{7F}",
            "\u{80}", "\"quoted\"", "back\\slash", "a:b", "~", "'", "(a)", "<a>", "[a]", "{a}",
            "a;b", "@", "ID", "id", "0", "-", ".", "..", "./a", "a/../b",
            "\u{65E5}\u{672C}\u{8A9E}", "a,b",
            "*", "!", "$", "^", "|", "`", "\u{5D0}\u{202E}", "a_b", "null", "true", "{\"a\":1}",
            "_design/\u{301}x", "_design/a", "_design/a/b", "_design/a%2Fb", "_design/\u{E9} +",
            String(repeating: "x", count: 240), String(repeating: "i", count: 4_096),
            String(repeating: "\u{E9}", count: 1_000),
        ] as [String]).map { RevisionText($0, #""id": "difficult""#) }

    /// A design document with functions.
    static let design = RevisionText(
        "_design/functions",
        #""views": {"v": {"map": "function (doc) { emit(doc._id, null) }", "reduce": "_count"}}, "#
            + #""filters": {"f": "function (doc, req) { return doc.type === req.query.type }"}, "#
            + #""language": "javascript""#)

    /// Documents with trees: conflicts, tombstones, long histories.
    static func trees(isQuick: Bool) -> [RevisionText] {
        conflicts + tombstones + histories + oddRevisions + (isQuick ? [] : longHistories)
    }

    private static let conflicts: [RevisionText] = {
        let two = ["a", "b"].map {
            RevisionText("conflict of 2", [revision(2, $0), "1-aa"], "\"v\":\"\($0)\"")
        }
        let many = (0..<12).map { number in
            var text = RevisionText(
                "conflict of 12", [revision(2, "\(number)"), revision(1, "root")], "\"v\":\(number)"
            )
            text.isDeleted = number % 3 == 0
            return text
        }
        let uneven = [5, 3, 9].map {
            RevisionText(
                "conflict of unequal lengths",
                RevisionText.history($0, downTo: 2, "branch \($0)") + [revision(1, "root")],
                "\"v\":\($0)")
        }
        let same = ["a", "b"].map {
            RevisionText(
                "conflict with equal bodies", [revision(2, $0), revision(1, "r")], "\"v\":1")
        }
        let roots = ["a", "b", "c"].map {
            RevisionText("conflict of roots", [revision(1, $0)], "\"v\":\"\($0)\"")
        }
        let nested = [["x", "y"], ["x", "z"], ["w", "v"]].map { path in
            RevisionText(
                "conflict in a conflict",
                [revision(3, path[1]), revision(2, path[0]), revision(1, "r")],
                "\"v\":\"\(path[1])\"")
        }
        return two + many + uneven + same + roots + nested
    }()

    private static let tombstones: [RevisionText] = {
        var bare = RevisionText("tombstone", [revision(2, "t"), revision(1, "t")])
        var body = RevisionText(
            "tombstone with a body", [revision(2, "t"), revision(1, "t")], #""why": {"n": 1}"#)
        var first = RevisionText("tombstone from the beginning", [revision(1, "t")])
        let alive = RevisionText(
            "tombstone beside a life", [revision(2, "a"), revision(1, "t")], #""v": 1"#)
        var longer = RevisionText(
            "tombstone beside a life", RevisionText.history(6, "t"), #""v": 2"#)
        let revived = RevisionText("tombstone revived", RevisionText.history(3, "t"), #""v": 3"#)
        var all = ["a", "b", "c"].map {
            RevisionText("tombstones only", [revision(2, $0), revision(1, "t")], "\"v\":\"\($0)\"")
        }
        for index in all.indices { all[index].isDeleted = true }
        var design = RevisionText("_design/deleted", [revision(2, "t"), revision(1, "t")])
        bare.isDeleted = true
        body.isDeleted = true
        first.isDeleted = true
        longer.isDeleted = true
        design.isDeleted = true
        return [bare, body, first, alive, longer, revived, design] + all
    }()

    private static let histories = [
        RevisionText("history of 50", RevisionText.history(50, "h"), #""v": 1"#),
        RevisionText("history of 999", RevisionText.history(999, "h"), #""v": 1"#),
        RevisionText(
            "history that begins at 90", RevisionText.history(100, downTo: 90, "h"), #""v": 1"#),
        RevisionText("history of one late revision", [revision(77, "h")], #""v": 1"#),
    ]

    private static let longHistories =
        [
            RevisionText("history of 1,500", RevisionText.history(1_500, "h"), #""v": 1"#),
            RevisionText("history of 1,000", RevisionText.history(1_000, "h"), #""v": 1"#),
        ]
        + ["a", "b"].map {
            RevisionText(
                "history of 1,200 with a conflict",
                [revision(1_200, $0)] + RevisionText.history(1_199, "h"), "\"v\":\"\($0)\"")
        }

    private static let oddRevisions = [
        RevisionText("revision of words", ["2-some words", "1-x"], #""v": 1"#),
        RevisionText("revision in capitals", ["1-ABCDEF0123456789ABCDEF0123456789"], #""v": 1"#),
        RevisionText("revision with a dash", ["1-a-b-c"], #""v": 1"#),
        RevisionText("revision of a letter", ["1-x"], #""v": 1"#),
        RevisionText("revision not ASCII", ["1-\u{E9}\u{1F600}"], #""v": 1"#),
        RevisionText(
            "revision of 255 bytes", ["1-\(String(repeating: "r", count: 255))"], #""v": 1"#),
        RevisionText("revision of 31 digits", ["1-abcdef0123456789abcdef012345678"], #""v": 1"#),
        RevisionText(
            "generation of 10 digits", ["1234567890-\(String(repeating: "0", count: 32))"],
            #""v": 1"#),
    ]

    private static func revision(_ generation: Int, _ branch: String) -> String {
        RevisionText.revision(generation, branch)
    }
}
