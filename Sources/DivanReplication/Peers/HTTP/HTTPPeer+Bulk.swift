// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

// Storing many documents with one request.
extension HTTPPeer {
    /// Sends documents together, or none to see whether the server is in order.
    func putTogether(_ items: [Item]) async throws -> Halving<Item, PutOutcome>.Answer {
        let response = try await connection.respond(
            to: WireRequest(.post, "_bulk_docs", body: .json(Self.text(of: items))))
        switch response.status {
        case 200...299: break
        case 400, 403, 406, 409, 412, 413, 414, 415, 422, 431, 500, 502:
            return try await spoiled(response, items)
        case 401 where try await isAdmitted():
            return try await spoiled(response, items)
        default:
            throw ReplicationError(response, try await response.beginning(), "_bulk_docs", at: name)
        }
        let body = try await response.bytes(limit: Self.longestAnswer)
        guard Self.isFit(body), let answer = try? PackedValue(parsing: body), answer.kind == .array,
            let outcomes = Self.outcomes(of: items, answer)
        else {
            return .spoiled(
                ReplicationError(
                    .invalidAnswer,
                    "'\(name)' answers _bulk_docs with something that does not say what became of "
                        + "the documents.", status: response.status, isTransient: true))
        }
        return .outcomes(zip(outcomes, items).map(told))
    }

    private func spoiled(_ response: WireResponse, _ items: [Item]) async throws
        -> Halving<Item, PutOutcome>.Answer
    {
        let text = try await response.beginning()
        if items.count == 1, response.status == 412, Self.isMissingStub(text) {
            return .outcomes([.needsAttachments])
        }
        return .spoiled(ReplicationError(response, text, "_bulk_docs", at: name))
    }

    /// Whether an answer says that the server lacks the content of an attachment.
    static func isMissingStub(_ text: [UInt8]) -> Bool {
        (try? PackedValue(parsing: text))?["error"]?.string == "missing_stub"
    }

    private static func text(of items: [Item]) -> [UInt8] {
        var text = Array(#"{"new_edits":false,"docs":["#.utf8)
        for (place, item) in items.enumerated() {
            if place > 0 { text.append(ascii: ",") }
            text += item.text ?? []
        }
        text.append(ascii: "]}")
        return text
    }

    /// What an answer says of the documents that were sent; one that it does not mention is stored.
    ///
    /// - Returns: nil when it has an error that belongs to none of them, or does not say to which.
    private static func outcomes(of items: [Item], _ answer: PackedValue) -> [PutOutcome]? {
        var outcomes = [PutOutcome](repeating: .stored, count: items.count)
        var places: [DocumentID: [Int]] = [:]
        for (place, item) in items.enumerated() {
            places[item.id, default: []].append(place)
        }
        var isClear = true
        answer.forEachElement { entry in
            guard let error = entry["error"]?.string else { return }
            let candidates = entry["id"]?.string.flatMap { places[DocumentID($0)] } ?? []
            let refused = named(entry["rev"]?.string, candidates, items)
            if refused.isEmpty { isClear = false }
            for place in refused {
                outcomes[place] = outcome(error, entry, items[place].id)
            }
        }
        return isClear ? outcomes : nil
    }

    /// Which of several revisions of a document an answer means. CouchDB writes some digests in lower case.
    private static func named(_ revision: String?, _ places: [Int], _ items: [Item]) -> [Int] {
        guard let revision, places.count > 1 else { return places }
        let lowered = revision.lowercased()
        return places.filter {
            lowered.hasSameBytes(as: items[$0].document.revision?.description.lowercased())
        }
    }

    private static func outcome(_ error: String, _ entry: PackedValue, _ id: DocumentID)
        -> PutOutcome
    {
        guard error != "missing_stub" else { return .needsAttachments }
        return .failed(
            ReplicationError(
                ofDocument: id, error: error, reason: entry["reason"]?.string,
                status: entry["status"]?.int64))
    }
}
