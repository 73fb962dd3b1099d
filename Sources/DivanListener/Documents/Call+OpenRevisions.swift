// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

/// A revision that was asked for: found, or not.
enum RevisionAnswer: Sendable {
    case found(Document, RevisionTree)
    case missing(String)
}

extension DocumentFormat {
    /// The answer, or that the revision is missing where it cannot be sent whole.
    fileprivate func whole(_ answer: RevisionAnswer) -> RevisionAnswer {
        guard case .found(let document, let tree) = answer,
            missingContent(of: document, tree) != nil
        else { return answer }
        return .missing(document.revisionID)
    }
}

// Several leaves of one document: how replicators fetch what `_bulk_get` cannot give them.
extension Call {
    /// `GET /{db}/{doc}?open_revs=all|["rev",…]`
    func openRevisions(of id: String, _ wanted: String) throws -> ListenerResponse {
        var format = try DocumentFormat(query)
        let isMultipart = accepts("multipart/mixed") && headers["Accept"] != "application/json"
        if isMultipart { format.attachments = .following }
        var revisions: [String]?
        if wanted != "all" {
            guard let list = try query.json("open_revs") else { throw HTTPFailure.invalidJSON }
            revisions = try DocumentFormat.revisions(list, "open_revs").map(Self.checked)
        }
        let latest = try query.flag("latest")
        let answers = try database.read { transaction in
            try Self.answers(id, revisions, latest: latest, transaction)
        }
        let allowed = answers.filter {
            if case .found(let document, _) = $0 { mayRead(document) } else { true }
        }.map(format.whole)
        return isMultipart ? try multipart(allowed, format) : try list(allowed, format)
    }

    /// What becomes of each revision that was asked for; all leaves when none was named.
    static func answers(
        _ id: String, _ revisions: [String]?, latest: Bool,
        _ transaction: borrowing ReadTransaction
    ) throws -> [RevisionAnswer] {
        guard let tree = try transaction.revisionTree(of: id) else {
            guard let revisions else { throw HTTPFailure.missing }
            return revisions.map { .missing($0) }
        }
        guard let revisions else {
            return try tree.leaves.map { try answer(id, $0.id, tree, transaction) }
        }
        var answers: [RevisionAnswer] = []
        var given: Set<RevisionID> = []
        for text in revisions {
            let revision = try RevisionID(text)
            let leaves = latest ? leaves(of: revision, in: tree) : []
            // Two revisions of one branch have one latest, which is sent once.
            for one in leaves.isEmpty ? [revision] : leaves where given.insert(one).inserted {
                answers.append(try answer(id, one, tree, transaction))
            }
        }
        return answers
    }

    private static func answer(
        _ id: String, _ revision: RevisionID, _ tree: RevisionTree,
        _ transaction: borrowing ReadTransaction
    ) throws -> RevisionAnswer {
        guard tree.node(revision)?.sequence != nil,
            let document = try transaction.document(
                withID: id, revision: revision.description)
        else { return .missing(revision.description) }
        return .found(document, tree)
    }

    private func list(_ answers: [RevisionAnswer], _ format: DocumentFormat) throws
        -> ListenerResponse
    {
        var text = JSONText()
        text.raw("[")
        for (index, answer) in answers.enumerated() {
            if index > 0 { text.bytes.append(JSONByte.comma) }
            switch answer {
            case .found(let document, let tree):
                text.raw("{\"ok\":")
                try format.append(document, tree, to: &text)
            case .missing(let revision):
                text.raw("{\"missing\":")
                text.string(revision)
            }
            text.bytes.append(JSONByte.closeBrace)
        }
        text.raw("]")
        return .json(bytes: text.bytes)
    }

    /// One part for each revision; one with attachments is again multipart, with its own boundary.
    private func multipart(_ answers: [RevisionAnswer], _ format: DocumentFormat) throws
        -> ListenerResponse
    {
        let outer = DocumentParts.boundary()
        var parts = DocumentParts()
        for answer in answers {
            parts.append("--\(outer)\r\n")
            try Self.append(answer, format, to: &parts)
            parts.append("\r\n")
        }
        parts.append("--\(outer)--")
        return parts.response("multipart/mixed", boundary: outer)
    }

    /// Appends a part, without the boundary before it.
    static func append(
        _ answer: RevisionAnswer, _ format: DocumentFormat, to parts: inout DocumentParts
    ) throws {
        switch answer {
        case .missing(let revision):
            var text = JSONText()
            text.value(["missing": .string(revision)])
            parts.append("Content-Type: application/json; error=\"true\"\r\n\r\n")
            parts.append(text.bytes)
        case .found(let document, let tree):
            guard format.contents(of: document, tree).isEmpty else {
                let inner = DocumentParts.boundary()
                parts.append("Content-Type: multipart/related; boundary=\"\(inner)\"\r\n\r\n")
                try parts.append(document, tree, format, boundary: inner)
                return
            }
            var text = JSONText()
            try format.append(document, tree, to: &text)
            parts.append("Content-Type: application/json\r\n\r\n")
            parts.append(text.bytes)
        }
    }
}
