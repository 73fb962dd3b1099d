// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

// Storing revisions.
extension HTTPPeer {
    /// Stores revisions: most together, those with large attachments one by one.
    ///
    /// - Throws: `ReplicationError`.
    package func put(_ documents: [WireDocument]) async throws -> [PutOutcome] {
        let items = documents.map { document in
            var item = Item(document: document)
            if let attachmentLimit {
                item.leftOut = item.document.leaveOut { $0.knownLength ?? 0 > attachmentLimit }
            }
            return item
        }
        return try await put(items)
    }

    /// A document, and the names of the attachments that were taken out of it.
    private struct Item {
        var document: WireDocument
        var leftOut: [String] = []
    }

    private func put(_ items: [Item]) async throws -> [PutOutcome] {
        var outcomes = [PutOutcome?](repeating: nil, count: items.count)
        var batch: [(index: Int, text: [UInt8])] = []
        var bytes = 0
        func flush() async throws {
            for (index, outcome) in try await putTogether(batch, items) {
                outcomes[index] = outcome
            }
            batch = []
            bytes = 0
        }
        for (index, item) in items.enumerated() {
            guard !item.document.hasLargeContent else {
                outcomes[index] = try await putAlone(item)
                continue
            }
            let text: [UInt8]
            do { text = try await inlineText(item.document) } catch let error as DatabaseError {
                outcomes[index] = .failed(ReplicationError(error))
                continue
            }
            if bytes + text.count > Self.bulkBytes, !batch.isEmpty { try await flush() }
            batch.append((index, text))
            bytes += text.count
        }
        if !batch.isEmpty { try await flush() }
        return outcomes.indices.map { told(outcomes[$0] ?? .stored, items[$0]) }
    }

    // MARK: - Together

    private func putTogether(
        _ batch: [(index: Int, text: [UInt8])], _ items: [Item]
    ) async throws -> [(Int, PutOutcome)] {
        guard batch.count > 1 else {
            return try await putOneByOne(batch, items)
        }
        var text = Array(#"{"new_edits":false,"docs":["#.utf8)
        for (place, item) in batch.enumerated() {
            if place > 0 { text.append(ascii: ",") }
            text += item.text
        }
        text.append(ascii: "]}")
        let response = try await connection.respond(
            to: WireRequest(.post, "_bulk_docs", body: .json(text)))
        // One of them spoils the request: each is told apart from the others.
        if [400, 403, 412, 413].contains(response.status) {
            try await response.drain()
            return try await putOneByOne(batch, items)
        }
        guard (200...299).contains(response.status) else {
            throw ReplicationError(
                response, try await response.beginning(), "_bulk_docs", at: name)
        }
        let body = try await response.bytes()
        guard let answer = try? PackedValue(parsing: body), answer.kind == .array else {
            throw ReplicationError(
                .invalidAnswer, "'\(name)' answers _bulk_docs with something that is no array.",
                isTransient: true)
        }
        let refusals = Self.refusals(answer)
        return batch.map { index, _ in
            let document = items[index].document
            let id = document.id?.text ?? ""
            let refusal = refusals[id].flatMap { list in
                list.first { $0.revision == nil || $0.revision == document.revision?.description }
            }
            guard let refusal else { return (index, .stored) }
            if refusal.error == "missing_stub" { return (index, .needsAttachments) }
            return (
                index,
                .failed(
                    ReplicationError(ofDocument: id, error: refusal.error, reason: refusal.reason))
            )
        }
    }

    private struct Refusal {
        var revision: String?
        var error: String
        var reason: String?
    }

    private static func refusals(_ answer: PackedValue) -> [String: [Refusal]] {
        var refusals: [String: [Refusal]] = [:]
        answer.forEachElement { entry in
            guard let id = entry["id"]?.string, let error = entry["error"]?.string else { return }
            refusals[id, default: []].append(
                Refusal(
                    revision: entry["rev"]?.string, error: error, reason: entry["reason"]?.string))
        }
        return refusals
    }

    // MARK: - One by one

    private func putOneByOne(
        _ batch: [(index: Int, text: [UInt8])], _ items: [Item]
    ) async throws -> [(Int, PutOutcome)] {
        var outcomes: [(Int, PutOutcome)] = []
        for (index, text) in batch {
            let item = items[index]
            let mayLeaveOut = attachmentLimit != nil && !item.document.inlineContents.isEmpty
            let outcome =
                mayLeaveOut ? try await putAlone(item) : try await put(item.document, .json(text))
            outcomes.append((index, outcome))
        }
        return outcomes
    }

    /// Sends a document with its attachments; where that is asked for, without the largest ones if it is too large
    /// with them.
    private func putAlone(_ item: Item) async throws -> PutOutcome {
        var item = item
        while true {
            let outcome = try await putOnce(item.document)
            guard attachmentLimit != nil, case .failed(let error) = outcome, error.status == 413,
                let largest = item.document.inlineContents.values.compactMap(\.knownLength).max()
            else { return told(outcome, item) }
            item.leftOut += item.document.leaveOut { $0.knownLength == largest }
        }
    }

    /// What became of a document, with what was left out of it.
    private func told(_ outcome: PutOutcome, _ item: Item) -> PutOutcome {
        guard case .stored = outcome, !item.leftOut.isEmpty else { return outcome }
        return .storedWithout(.leftOut(item.leftOut, of: item.document.id?.text ?? "", at: name))
    }

    private func putOnce(_ document: WireDocument) async throws -> PutOutcome {
        let body: WireRequest.Body
        do {
            body =
                document.hasLargeContent
                ? try MultipartDocument.body(document, in: database)
                : .json(try await inlineText(document))
        } catch let error as DatabaseError { return .failed(ReplicationError(error)) }
        return try await put(document, body)
    }

    private func put(_ document: WireDocument, _ body: WireRequest.Body) async throws -> PutOutcome
    {
        let id = document.id?.text ?? ""
        let response = try await connection.respond(
            to: WireRequest(
                .put, DocumentPath.document(id), query: [("new_edits", "false")], body: body))
        let text = try await response.beginning()
        if (200...299).contains(response.status) {
            // A page to sign in to a network says 200, too.
            guard let answer = try? PackedValue(parsing: text), answer.isObject else {
                throw ReplicationError(
                    .invalidAnswer,
                    "'\(name)' answers '\(id)' with something that is no JSON object.",
                    status: response.status, isTransient: true)
            }
            return .stored
        }
        var error = ReplicationError(response, text, "'\(id)'", at: name)
        error.documentID = id
        switch response.status {
        case 412:
            let name = (try? PackedValue(parsing: text))?["error"]?.string
            return name == "missing_stub" ? .needsAttachments : .failed(error)
        case 400, 403, 406, 409, 413, 415, 422, 500:
            return .failed(error)
        case 401 where try await isAdmitted():
            return .failed(error)
        default:
            // It is about the server, whatever document it was asked for.
            error.documentID = nil
            throw error
        }
    }

    /// Whether the server still lets us in: then a 401 is about the one document, as CouchDB gives it where a
    /// validation function says so.
    func isAdmitted() async throws -> Bool {
        do { return try await information().exists } catch let error as ReplicationError
            where error.code == .unauthorized
        {
            return false
        }
    }

    /// The text of a document whose content all stands in it.
    private func inlineText(_ document: WireDocument) async throws -> [UInt8] {
        guard !document.inlineContents.isEmpty else {
            var text: [UInt8] = []
            document.appendJSON(to: &text, contents: [:])
            return text
        }
        return try await database.background {
            var contents: [ExactString: WireDocument.Written] = [:]
            for (name, content) in document.inlineContents {
                contents[name] = .inline(try content.allBytes())
            }
            var text: [UInt8] = []
            document.appendJSON(to: &text, contents: contents)
            return text
        }
    }
}

extension WireDocument {
    /// Takes out attachments by their content, and gives their names.
    fileprivate mutating func leaveOut(_ isLeftOut: (AttachmentContent) -> Bool) -> [String] {
        let names = inlineContents.filter { isLeftOut($0.value) }.keys.map(\.text).sorted()
        guard !names.isEmpty, var entries = body["_attachments"]?.jsonValue().object else {
            return []
        }
        for name in names {
            inlineContents[ExactString(name)] = nil
            entries[name] = nil
        }
        let rest: JSONValue? = entries.isEmpty ? JSONValue?.none : .some(.object(entries))
        body = body.replacing(["_attachments": rest])
        return names
    }

    /// Whether content goes along that does not belong inside JSON: too long, or coded.
    var hasLargeContent: Bool {
        inlineContents.values.contains {
            $0.isCoded || ($0.knownLength ?? .max) > HTTPPeer.inlineLimit
        }
    }

    /// How an attachment's content is written.
    enum Written {
        case inline([UInt8])
        case follows
    }

    /// Appends the document as a target takes it, with the content that is given.
    func appendJSON(to text: inout [UInt8], contents: [ExactString: Written]) {
        text.append(ascii: #"{"_id":"#)
        text.append(jsonString: id?.text ?? "")
        if let history {
            text.append(ascii: #","_rev":"#)
            text.append(jsonString: history.newest.description)
            text.append(ascii: #","_revisions":{"start":"#)
            text.append(contentsOf: String(history.newest.generation).utf8)
            text.append(ascii: #","ids":["#)
            for (index, id) in history.ids.enumerated() {
                if index > 0 { text.append(ascii: ",") }
                text.append(jsonString: id.digest)
            }
            text.append(ascii: "]}")
        }
        if isDeleted { text.append(ascii: #","_deleted":true"#) }
        var body = body
        if !contents.isEmpty, case .object(var entries)? = body["_attachments"]?.jsonValue() {
            for (name, written) in contents {
                guard var entry = entries[name.text]?.object else { continue }
                entry["stub"] = nil
                switch written {
                case .inline(let bytes):
                    entry["follows"] = nil
                    entry["data"] = .string(Base64.encode(bytes))
                case .follows: entry["follows"] = true
                }
                entries[name.text] = .object(entry)
            }
            body = body.replacing(["_attachments": .object(entries)])
        }
        let start = text.count
        body.appendJSON(to: &text)
        if text.count - start > 2 {
            text[start] = UInt8(ascii: ",")
        } else {
            text.removeLast(2)
            text.append(ascii: "}")
        }
    }
}

extension AttachmentContent {
    /// The stored bytes, for content that is known to be short.
    func allBytes() throws -> [UInt8] {
        let reader = try makeReader()
        var bytes: [UInt8] = []
        while true {
            let piece = try reader.read(upTo: 64 * 1_024)
            if piece.isEmpty { return bytes }
            bytes += piece
        }
    }
}
