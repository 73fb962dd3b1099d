// SPDX-License-Identifier: Apache-2.0

internal import Divan

extension Command {
    /// `divan tree`: a document's history, drawn.
    static let tree = Command(
        CommandSchema(
            name: "tree",
            summary: "Draw the revision tree of a document.",
            discussion: """
                Each leaf is a line. The winning revision is marked, a tombstone has a cross, and a \
                root whose ancestors are not known has dots before it. Of a long history the newest \
                revisions are shown; --all shows the older ones, too, of which only the IDs are kept.
                """,
            arguments: [.database, .document],
            options: [
                .flag("all", "a", "Show the older revisions, too."),
                .flag("full", nil, "Show whole revision IDs, not their first 8 digits."),
                .value(
                    "svg", nil, "FILE", "Write a picture instead, to a file or - for the output.",
                    completion: .file),
            ],
            examples: ["divan tree notes.divan n1", "divan tree notes.divan n1 --svg n1.svg"])
    ) { invocation in
        let database = try invocation.openDatabase()
        defer { database.close() }
        let id = try invocation.arguments.requiredDocumentID()
        let isWhole = invocation.arguments.flag("all")
        guard
            let tree = try isWhole
                ? database.revisionTree(of: id) : database.recentRevisionTree(of: id)
        else {
            throw CommandFailure(.notFound, "There is no document \"\(id)\".")
        }
        let output = invocation.output
        if let path = invocation.arguments.string("svg") {
            let picture = RevisionTreeSVG.draw(tree, title: "Revision tree of \(id)")
            if path == "-" { return try output.out.write(picture) }
            try OutputFile.write(picture, to: path)
            return output.remark("Wrote \(PrintableText.escaping(path)).")
        }
        let length = invocation.arguments.flag("full") ? nil : 8
        for line in tree.drawing(digestLength: length) {
            // A digest is text from another database: it may hold anything.
            try output.line(PrintableText.escaping(line))
        }
    }
}
