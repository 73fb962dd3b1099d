// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport

extension Material {
    /// Documents with attachments of all sizes, names and places.
    static func attachments(isQuick: Bool, _ random: SeededRandom) -> [RevisionText] {
        var random = random
        let text = Array(String(repeating: "Compress this line of text.\n", count: 180).utf8)
        var documents = [
            RevisionText(
                "attachment of 0 bytes", [.init(name: "a", type: "text/plain", content: [])]),
            RevisionText(
                "attachment of 0 bytes, binary", [.init(name: "a", type: "image/png", content: [])]),
            RevisionText(
                "attachment of 1 byte", [.init(name: "a", type: "image/png", content: [0])]),
            RevisionText(
                "attachment of text", [.init(name: "a.txt", type: "text/plain", content: text)]),
            RevisionText(
                "attachment of text with a charset",
                [.init(name: "a.txt", type: "text/plain; charset=\"utf-8\"", content: text)]),
            RevisionText(
                "attachment of JSON",
                [.init(name: "a", type: "application/json", content: Array("{}".utf8))]),
            RevisionText(
                "attachment of random text",
                [.init(name: "a", type: "text/plain", content: random.bytes(3_000))]),
            RevisionText(
                "attachment of 200 kB",
                [.init(name: "a", type: "image/png", content: random.bytes(200_000))]),
            RevisionText(
                "attachment with an odd type",
                [.init(name: "a", type: "x/y;a=b c", content: [1, 2])]),
            RevisionText(
                "attachment with an empty type", [.init(name: "a", type: "", content: [1])]),
            RevisionText(
                "_design/attached", [.init(name: "index.html", type: "text/html", content: text)]),
            RevisionText(
                "attachments/of an odd ID +%", [.init(name: "a/b", type: "image/png", content: [1])]
            ),
            RevisionText(
                "attachments with one content",
                ["a", "b", "c"].map { .init(name: $0, type: "image/png", content: [7, 7, 7]) }),
            RevisionText(
                "attachments, 50",
                (0..<50).map {
                    .init(name: "n\($0)", type: "image/png", content: [UInt8($0), 1, 2])
                }),
            RevisionText(
                "attachment with a line end in its name",
                ["a b", "a\nb", "a"].map {
                    .init(name: $0, type: "image/png", content: Array($0.utf8))
                }),
            RevisionText(
                "attachments with odd names",
                oddNames.map { .init(name: $0, type: "image/png", content: Array($0.utf8)) }),
        ]
        documents += positions + branches
        if !isQuick {
            documents.append(
                RevisionText(
                    "attachment of 5 MB",
                    [.init(name: "big", type: "image/png", content: random.bytes(5 << 20))]))
        }
        return documents
    }

    private static let oddNames = [
        "a b", "a/b", "a+b", "a%2Fb", "100%", "a?b#c", "\u{E9}", "e\u{301}", "\u{1F600}", "\"q\"",
        "a'b",
        "a;b", "a=b", "a\\b", ".", "..", "\u{301}", " ", "-", String(repeating: "n", count: 300),
    ]

    /// Attachments that came with an earlier revision, or are said to have come with none.
    private static let positions: [RevisionText] = [0, 1, 2, 3].map { position in
        var text = RevisionText(
            "attachment with revpos \(position) of 3", RevisionText.history(3, "p"), #""v": 1"#)
        text.attachments = [
            .init(name: "a", type: "image/png", content: [1, 2, 3], position: position)
        ]
        return text
    }

    /// Attachments of leaves that are not the winner, and of a tombstone.
    private static let branches: [RevisionText] = {
        let leaves = ["a", "b", "c"].map { branch in
            var text = RevisionText(
                "attachments of a conflict",
                [RevisionText.revision(2, branch), RevisionText.revision(1, "r")],
                "\"v\":\"\(branch)\"")
            text.attachments = [
                .init(name: "own", type: "image/png", content: Array(branch.utf8), position: 2),
                .init(
                    name: "common", type: "text/plain", content: Array("common".utf8), position: 1),
            ]
            return text
        }
        var tombstone = RevisionText("attachment of a tombstone", RevisionText.history(2, "t"))
        tombstone.isDeleted = true
        tombstone.attachments = [.init(name: "a", type: "image/png", content: [9], position: 1)]
        return leaves + [tombstone]
    }()
}
