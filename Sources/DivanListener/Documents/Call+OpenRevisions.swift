// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

/// A revision that was asked for: found, or not.
enum RevisionAnswer: Sendable {
    case found(Document, RevisionTree)
    case missing(String)
    /// It is here and cannot be sent.
    case unreadable(String, HTTPFailure)

    /// The revision.
    var revision: String {
        switch self {
        case .found(let document, _): document.revisionID
        case .missing(let revision), .unreadable(let revision, _): revision
        }
    }
}

extension DocumentFormat {
    /// The answer, or why the revision cannot be sent whole.
    fileprivate func whole(_ answer: RevisionAnswer) -> RevisionAnswer {
        guard case .found(let document, let tree) = answer,
            let failure = missingContent(of: document, tree)
        else { return answer }
        return .unreadable(document.revisionID, failure)
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
            let list = try query.json("open_revs") ?? .null
            revisions = try DocumentFormat.revisions(list, "open_revs")
        }
        let latest = try query.flag("latest")
        let answers = try database.read { transaction in
            try self.answers(id, revisions, latest: latest, transaction)
        }.map(format.whole)
        return isMultipart ? try multipart(answers, format) : try list(answers, format)
    }

    /// What becomes of each revision that was asked for; all leaves when none was named. One that the user may not read
    /// is missing.
    func answers(
        _ id: String, _ revisions: [String]?, latest: Bool,
        _ transaction: borrowing ReadTransaction
    ) throws -> [RevisionAnswer] {
        guard let tree = try transaction.revisionTree(of: id), try mayKnow(id, tree, transaction)
        else {
            guard let revisions else { throw HTTPFailure.missing }
            return revisions.map { .missing($0) }
        }
        guard let revisions else {
            return try tree.leaves.map { try Self.answer(id, $0.id, tree, transaction) }
                .filter(isVisible)
        }
        var answers: [RevisionAnswer] = []
        var given: Set<RevisionID> = []
        for text in revisions {
            // No revision here has a malformed ID.
            guard let named = try? RevisionID(Self.unquoted(text)) else {
                answers.append(.missing(text))
                continue
            }
            let revision = Self.kept(named, in: tree)
            let leaves = latest ? Self.leaves(of: revision, in: tree) : []
            // Two revisions of one branch have one latest, which is sent once.
            for one in leaves.isEmpty ? [revision] : leaves where given.insert(one).inserted {
                let found = try Self.answer(id, one, tree, transaction)
                answers.append(isVisible(found) ? found : .missing(text))
            }
        }
        return answers
    }

    private func isVisible(_ answer: RevisionAnswer) -> Bool {
        guard case .found(let document, _) = answer else { return true }
        return mayRead(document)
    }

    /// The leaf that a revision means. CouchDB asks for digests of hexadecimal digits in lower case, also
    /// where the feed told them in upper case, and stops when one is missing.
    private static func kept(_ revision: RevisionID, in tree: RevisionTree) -> RevisionID {
        guard tree.node(revision) == nil else { return revision }
        let text = revision.description
        return tree.leaves.first { $0.id.description.lowercased().hasSameBytes(as: text) }?.id
            ?? revision
    }

    private static func answer(
        _ id: String, _ revision: RevisionID, _ tree: RevisionTree,
        _ transaction: borrowing ReadTransaction
    ) throws -> RevisionAnswer {
        do {
            guard tree.node(revision)?.sequence != nil,
                let document = try transaction.document(
                    withID: id, revision: revision.description)
            else { return .missing(revision.description) }
            return .found(document, tree)
        } catch let error as DatabaseError where error.code == .corrupted {
            return .unreadable(revision.description, ErrorResponse.told(error, of: id))
        }
    }

    private func list(_ answers: [RevisionAnswer], _ format: DocumentFormat) throws
        -> ListenerResponse
    {
        var text = JSONText()
        text.raw("[")
        for (index, answer) in answers.enumerated() {
            if index > 0 { text.bytes.append(JSONByte.comma) }
            let start = text.bytes.count
            do {
                try Self.append(answer, format, to: &text)
            } catch let error as DatabaseError {
                _ = ErrorResponse.told(error, of: name(0))
                text.bytes.removeSubrange(start...)
                try Self.append(.missing(answer.revision), format, to: &text)
            }
        }
        text.raw("]")
        return .json(bytes: text.bytes)
    }

    private static func append(
        _ answer: RevisionAnswer, _ format: DocumentFormat, to text: inout JSONText
    ) throws {
        switch answer {
        case .found(let document, let tree):
            text.raw("{\"ok\":")
            try format.append(document, tree, to: &text)
        case .missing(let revision), .unreadable(let revision, _):
            text.raw("{\"missing\":")
            text.string(revision)
        }
        text.bytes.append(JSONByte.closeBrace)
    }

    /// One part for each revision; one with attachments is again multipart, with its own boundary.
    private func multipart(_ answers: [RevisionAnswer], _ format: DocumentFormat) throws
        -> ListenerResponse
    {
        var writer = MultipartWriter(subtype: "mixed")
        var parts = DocumentParts()
        for answer in answers { try Self.append(answer, [:], format, to: &parts, by: &writer) }
        parts.append(writer.end())
        return parts.response(writer)
    }

    /// Appends a part, with header fields of its own before those that tell its type.
    static func append(
        _ answer: RevisionAnswer, _ headers: HTTPHeaders, _ format: DocumentFormat,
        to parts: inout DocumentParts, by writer: inout MultipartWriter
    ) throws {
        var headers = headers
        var text = JSONText()
        switch answer {
        case .missing(let revision), .unreadable(let revision, _):
            text.value(["missing": .string(revision)])
            headers["Content-Type"] = "application/json; error=\"true\""
        case .found(let document, let tree):
            guard format.contents(of: document, tree).isEmpty else {
                let inner = MultipartWriter(subtype: "related")
                headers["Content-Type"] = inner.contentType
                parts.append(writer.beginPart(headers))
                return try parts.append(document, tree, format, by: inner)
            }
            try format.append(document, tree, to: &text)
            headers["Content-Type"] = "application/json"
        }
        parts.append(writer.beginPart(headers))
        parts.append(text.bytes)
    }
}
