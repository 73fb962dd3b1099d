// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

// Storing a document with a request of its own.
extension HTTPPeer {
    /// Sends a document with its attachments; where that is asked for, without the largest ones if it is too large
    /// with them.
    func putAlone(_ item: Item) async throws -> Halving<Item, PutOutcome>.Answer {
        var item = item
        while true {
            let answer: Halving<Item, PutOutcome>.Answer
            do { answer = try await put(item) } catch let error as DatabaseError {
                return .outcomes([try Self.failure(error, item)])
            }
            guard case .outcomes(let outcomes) = answer else { return answer }
            guard attachmentLimit != nil, case .failed(let error)? = outcomes.first,
                error.status == 413,
                let largest = item.document.inlineContents.values.compactMap(\.knownLength).max()
            else { return .outcomes(outcomes.map { told($0, item) }) }
            item.leftOut += item.document.leaveOut { $0.knownLength == largest }
            item.text = try await inlineText(item.document)
        }
    }

    private func put(_ item: Item) async throws -> Halving<Item, PutOutcome>.Answer {
        let body =
            try item.text.map { .json($0) } ?? MultipartDocument.body(item.document, in: database)
        let response = try await connection.respond(
            to: WireRequest(
                .put, DocumentPath.document(item.id.text), query: [("new_edits", "false")],
                body: body))
        let text = try await response.beginning()
        if (200...299).contains(response.status) {
            // A page to sign in to a network says 200, too.
            guard let answer = try? PackedValue(parsing: text), answer.isObject else {
                return .spoiled(notJSON("'\(item.id)'", response.status))
            }
            return .outcomes([.stored])
        }
        var error = ReplicationError(response, text, "'\(item.id)'", at: name)
        switch response.status {
        case 412 where Self.isMissingStub(text): return .outcomes([.needsAttachments])
        case 500, 502: return .spoiled(error)
        case 400, 403, 406, 409, 412, 413, 414, 415, 422, 431: break
        case 401 where try await isAdmitted(): break
        // It concerns the server, whichever document it was asked for.
        default: throw error
        }
        error.documentID = item.id
        return .outcomes([.failed(error)])
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
}
