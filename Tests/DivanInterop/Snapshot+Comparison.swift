// SPDX-License-Identifier: Apache-2.0

import DivanJSON

/// Finds what two snapshots do not have in common.
struct SnapshotComparison {
    private let part: String
    private let circumstance: String
    private let report: Report
    private let names: [String]

    init(_ part: String, _ circumstance: String, _ report: Report, names: [String]) {
        self.part = part
        self.circumstance = circumstance
        self.report = report
        self.names = names
    }

    /// Compares all documents.
    ///
    /// - Parameter passing: Documents about which nothing is said.
    func compare(_ left: Snapshot, _ right: Snapshot, passing: Set<ExactString> = []) {
        for id in Set(left.documents.keys).union(right.documents.keys).subtracting(passing) {
            report.checked()
            switch (left.documents[id], right.documents[id]) {
            case (let one?, let other?): compare(id.text, one, other)
            case (let one, let other):
                tell(id.text, "document", one?.winner ?? "none", other?.winner ?? "none")
            }
        }
    }

    private func compare(_ id: String, _ left: Snapshot.Document, _ right: Snapshot.Document) {
        if left.winner != right.winner { tell(id, "winner", left.winner, right.winner) }
        if left.isDeleted != right.isDeleted {
            tell(id, "deleted", "\(left.isDeleted)", "\(right.isDeleted)")
        }
        let leaves = [left, right].map { $0.leaves.keys.sorted().joined(separator: " ") }
        if leaves[0] != leaves[1] { tell(id, "leaves", leaves[0], leaves[1]) }
        for (revision, leaf) in left.leaves {
            guard let other = right.leaves[revision] else { continue }
            compare(id, revision, leaf, other)
        }
    }

    private func compare(
        _ id: String, _ revision: String, _ left: Snapshot.Leaf, _ right: Snapshot.Leaf
    ) {
        if left.isDeleted != right.isDeleted {
            tell(id, "tombstone \(revision)", "\(left.isDeleted)", "\(right.isDeleted)")
        }
        if left.history != right.history {
            let texts = [left, right].map { "\($0.history.count) IDs: \($0.history.prefix(40))" }
            tell(id, "history", texts[0], texts[1])
        }
        if left.body != right.body {
            tell(
                id, "body", JSONWriter.string(.object(left.body)),
                JSONWriter.string(.object(right.body)))
        }
        for name in Set(left.attachments.keys).union(right.attachments.keys) {
            compare(id, name.text, left.attachments[name], right.attachments[name])
        }
    }

    private func compare(
        _ id: String, _ name: String, _ left: Snapshot.Attachment?, _ right: Snapshot.Attachment?
    ) {
        let subject = "attachment \(Difference.quoted(name))"
        guard let left, let right else {
            let texts = [left, right].map { $0 == nil ? "none" : "one" }
            return tell(id, subject, texts[0], texts[1])
        }
        if left.content != right.content {
            let texts = [left, right].map {
                "\($0.content.count) bytes: \(String(decoding: $0.content.prefix(80), as: UTF8.self))"
            }
            tell(id, "\(subject) content", texts[0], texts[1])
        }
        for key in ["content_type", "length", "revpos", "digest", "stub"]
        where left.properties[key] != right.properties[key] && !areOfTwoKinds(left, right, key) {
            let texts = [left, right].map { $0.properties[key].map { "\($0)" } ?? "none" }
            tell(id, "\(key) of \(subject)", texts[0], texts[1])
        }
    }

    /// Digests of two algorithms, or of content that CouchDB keeps compressed, say nothing about each other; the
    /// contents are compared in any case.
    private func areOfTwoKinds(
        _ left: Snapshot.Attachment, _ right: Snapshot.Attachment, _ key: String
    ) -> Bool {
        let kinds = [left, right].map { $0.properties[key]?.string?.prefix { $0 != "-" } }
        return key == "digest" && kinds[0] != kinds[1]
    }

    private func tell(_ id: String, _ facet: String, _ left: String, _ right: String) {
        report.add(
            Difference(
                part: part, circumstance: circumstance, subject: id, facet: facet,
                ends: [(names[0], left), (names[1], right)]))
    }
}
