// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

/// A revision that was asked for: found, or not.
enum RevisionAnswer: Sendable {
    case found(Document, RevisionTree)
    case missing(RevisionID)
    /// It is here and cannot be sent.
    case unreadable(RevisionID, HTTPFailure)

    /// The revision.
    var revision: RevisionID {
        switch self {
        case .found(let document, _): document.revisionID
        case .missing(let revision), .unreadable(let revision, _): revision
        }
    }
}

/// The revisions of one document that a client asks for. Each is read when its turn comes, so that one alone is in
/// memory.
struct WantedRevisions: Sendable {
    private struct Wanted {
        var revision: RevisionID
        /// What the client has named, where it names revisions.
        var asked: RevisionID?
    }

    private let id: DocumentID
    private var tree: RevisionTree?
    private var wanted: [Wanted] = []
    private var position = 0

    /// Finds out what there is.
    ///
    /// - Parameters:
    ///   - id: The document.
    ///   - revisions: The revisions; nil for all leaves.
    ///   - latest: Whether the leaves that descend from them are sent in their place.
    ///   - call: The request.
    /// - Throws: `HTTPFailure` 404 when all leaves are asked for and there is no document.
    init(of id: DocumentID, _ revisions: [RevisionID]?, latest: Bool, _ call: Call) throws {
        self.id = id
        tree = try call.database.read { transaction in
            guard let tree = try transaction.revisionTree(of: id),
                try call.mayKnow(id, tree, transaction)
            else { return nil }
            return tree
        }
        guard let tree else {
            guard let revisions else { throw HTTPFailure.missing }
            wanted = revisions.map { Wanted(revision: $0, asked: $0) }
            return
        }
        guard let revisions else {
            wanted = tree.leaves.map { Wanted(revision: $0.id) }
            return
        }
        var given: Set<RevisionID> = []
        var lowered: NameMap<RevisionID>?
        for named in revisions {
            let revision = Self.kept(named, in: tree, &lowered)
            let leaves = latest ? Call.leaves(of: revision, in: tree) : []
            // Two revisions of one branch have one latest, which is sent once.
            for one in leaves.isEmpty ? [revision] : leaves
            where given.insert(one).inserted || !one.isValid {
                wanted.append(Wanted(revision: one, asked: named))
            }
        }
    }

    /// What becomes of the next revision; nil behind the last one. One that the user may not read is missing.
    mutating func next(_ call: Call) throws -> RevisionAnswer? {
        while position < wanted.count {
            let next = wanted[position]
            position += 1
            guard let tree else { return .missing(next.revision) }
            let answer = try Self.answer(id, next.revision, tree, call)
            if case .found(let document, _) = answer, !call.mayRead(document) {
                guard let asked = next.asked else { continue }
                return .missing(asked)
            }
            return answer
        }
        return nil
    }

    /// The leaf that a revision means. CouchDB asks for digests of hexadecimal digits in lower case, also
    /// where the feed told them in upper case, and stops when one is missing. The leaves by their texts in lower case are made once,
    /// for the first revision that is not there.
    private static func kept(
        _ revision: RevisionID, in tree: RevisionTree, _ lowered: inout NameMap<RevisionID>?
    ) -> RevisionID {
        guard tree.node(revision) == nil else { return revision }
        // Of two leaves with one text the first one counts, which is set last.
        let leaves =
            lowered
            ?? NameMap(tree.leaves.reversed().map { ($0.id.description.lowercased(), $0.id) })
        lowered = leaves
        return leaves[revision.description] ?? revision
    }

    private static func answer(
        _ id: DocumentID, _ revision: RevisionID, _ tree: RevisionTree, _ call: Call
    ) throws -> RevisionAnswer {
        do {
            guard tree.node(revision)?.sequence != nil,
                let document = try call.database.read({
                    try $0.document(withID: id, revision: revision)
                })
            else { return .missing(revision) }
            return .found(document, tree)
        } catch let error as DatabaseError where error.code == .corrupted {
            return .unreadable(revision, ErrorResponse.told(error, of: id))
        }
    }
}

extension DocumentFormat {
    /// The answer, or why the revision cannot be sent whole.
    func whole(_ answer: RevisionAnswer) -> RevisionAnswer {
        guard case .found(let document, let tree) = answer,
            let failure = missingContent(of: document, tree)
        else { return answer }
        return .unreadable(document.revisionID, failure)
    }
}

// Several leaves of one document: how replicators fetch what `_bulk_get` cannot give them.
extension Call {
    /// `GET /{db}/{doc}?open_revs=all|["rev",…]`
    func openRevisions(of id: DocumentID, _ wanted: String) throws -> ListenerResponse {
        var format = try DocumentFormat(self)
        let isMultipart = accepts("multipart/mixed") && headers["Accept"] != "application/json"
        if isMultipart { format.attachments = .following }
        var revisions: [RevisionID]?
        if wanted != "all" {
            let list = try query.json("open_revs") ?? .null
            revisions = try DocumentFormat.revisions(list, "open_revs")
        }
        let found = try WantedRevisions(
            of: id, revisions, latest: query.flag("latest"), self)
        guard isMultipart else {
            return .json(steps: OpenRevisionsListing(call: self, format: format, wanted: found))
        }
        return RevisionParts(self, "mixed", [.of(found, [:], format)]).response
    }
}

/// Writes the revisions of one document as a list, a few at a time.
private struct OpenRevisionsListing: ResponseSteps {
    private static let mostBytes = 256 << 10
    let call: Call
    let format: DocumentFormat
    var wanted: WantedRevisions
    private var hasBegun = false
    private var isDone = false

    init(call: Call, format: DocumentFormat, wanted: WantedRevisions) {
        self.call = call
        self.format = format
        self.wanted = wanted
    }

    mutating func next() throws -> Production {
        guard !isDone else { return .end }
        var text = JSONText()
        while text.bytes.count < Self.mostBytes {
            guard let answer = try wanted.next(call) else {
                isDone = true
                break
            }
            text.raw(hasBegun ? "," : "[")
            hasBegun = true
            try append(format.whole(answer), &text)
        }
        if isDone {
            text.raw(hasBegun ? "]\n" : "[]\n")
        }
        return .bytes(text.bytes)
    }

    private func append(_ answer: RevisionAnswer, _ text: inout JSONText) throws {
        let start = text.bytes.count
        if case .found(let document, let tree) = answer {
            do {
                text.raw("{\"ok\":")
                try format.append(document, tree, to: &text)
                return text.bytes.append(JSONByte.closeBrace)
            } catch let error as DatabaseError {
                _ = ErrorResponse.told(error, of: document.id)
                text.bytes.removeSubrange(start...)
            }
        }
        text.raw("{\"missing\":")
        text.string(answer.revision.description)
        text.bytes.append(JSONByte.closeBrace)
    }
}
