// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

/// What a `_revs_diff` asks of one document.
private struct WantedDifference: Sendable {
    /// The text of the ID in JSON, as it was sent.
    var idText: [UInt8]
    /// The ID; nil when no document here can have it.
    var id: DocumentID?
    /// The text of the list, as it was sent, where the ID or the list cannot be kept.
    var listText: [UInt8]
    /// The revisions; nil when the list holds what no `String` can.
    var revisions: [RevisionID]?

    /// Reads a member of the request; nil for what is none, or is not even UTF-8.
    ///
    /// - Throws: `HTTPFailure` 400 when it lists no revisions.
    init?(_ event: JSONObjectStream.Event, name: [UInt8]) throws {
        guard case .member(_, let list) = event, Self.isText(name), Self.isText(list) else {
            return nil
        }
        (idText, listText) = (name, list)
        let text = (try? JSONParser.parse(name))?.string
        id = text.flatMap { try? DocumentID(validating: $0) }
        do {
            let name = String((text ?? "an ID").prefix(200))
            revisions = try DocumentFormat.revisions(JSONParser.parse(list), name)
            if id != nil { listText = [] }
        } catch let failure as JSONParser.Failure where failure.kind == .characters {}
    }

    private static func isText(_ bytes: [UInt8]) -> Bool {
        String(validating: bytes, as: UTF8.self) != nil
    }
}

// What a database lacks of what another one has.
extension Call {
    /// `POST /{db}/_revs_diff`
    func revisionsDifference() throws -> ListenerResponse {
        var answer = LongText(site)
        try missingRevisions(&answer) { missing, ancestors, text in
            text.raw("{\"missing\":")
            text.bytes += missing
            if !ancestors.isEmpty {
                text.raw(",\"possible_ancestors\":")
                text.value(.array(ancestors.sorted(by: >).map { .string($0.description) }))
            }
            text.bytes.append(JSONByte.closeBrace)
        }
        return try answer.response()
    }

    /// `POST /{db}/_missing_revs`
    func missingRevisions() throws -> ListenerResponse {
        var answer = LongText(site)
        answer.text.raw("{\"missing_revs\":")
        try missingRevisions(&answer) { missing, _, text in text.bytes += missing }
        answer.text.bytes.append(JSONByte.closeBrace)
        return try answer.response()
    }

    /// Writes an object of the documents that lack some of the revisions that the request lists.
    ///
    /// What cannot be kept here is missing, too: then it is sent, and refused by its name. If it were left out, the
    /// client would take it for stored; if the request failed, nothing else would be sent.
    private func missingRevisions(
        _ answer: inout LongText, _ write: ([UInt8], Set<RevisionID>, inout JSONText) throws -> Void
    ) throws {
        var wanted: [WantedDifference] = []
        try reserve(try measureBody().cost(of: bodyKind))
        _ = try readObject(pieces(), array: nil) {
            if let one = try WantedDifference($0, name: $1) { wanted.append(one) }
        }
        try database.read { transaction in
            answer.text.raw("{")
            var isFirst = true
            for one in wanted {
                guard let (missing, ancestors) = try missing(one, transaction) else {
                    continue
                }
                if !isFirst { answer.text.bytes.append(JSONByte.comma) }
                isFirst = false
                answer.text.bytes += one.idText
                answer.text.raw(":")
                try write(missing, ancestors, &answer.text)
                try answer.settle()
            }
            answer.text.raw("}")
        }
    }

    /// The list of the revisions that are missing, in JSON, and the stored ones that may be their ancestors; nil when none is
    /// missing.
    private func missing(
        _ wanted: WantedDifference, _ transaction: borrowing ReadTransaction
    ) throws -> ([UInt8], Set<RevisionID>)? {
        guard let id = wanted.id, let revisions = wanted.revisions else {
            return (wanted.listText, [])
        }
        var tree = try transaction.recentTree(of: id)
        if let found = tree, try !mayKnow(id, found, transaction) { tree = nil }
        let lacking: Set<RevisionID>
        if let tree {
            lacking = Set(
                try transaction.missingRevisions(of: revisions.filter(\.isValid), in: tree, of: id))
        } else {
            lacking = Set(revisions.filter(\.isValid))
        }
        let missing = revisions.filter { lacking.contains($0) || !$0.isValid }
        guard !missing.isEmpty else { return nil }
        let ancestors = tree?.possibleAncestors(ofAny: lacking) ?? []
        var text = JSONText()
        text.value(.array(missing.map { .string($0.description) }))
        return (text.bytes, ancestors)
    }
}
