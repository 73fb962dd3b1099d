// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel
internal import Synchronization

/// How many documents one `_bulk_get` asks for.
///
/// All that is wanted, until they turn out to be large: an answer is broken off where its documents fill the
/// memory that is meant for them, and the server has worked for the rest in vain. So no more are asked for after that than
/// have come, and twice as many after each answer that leaves room. All in all no more are asked for than a few times those
/// that come.
struct FetchSize: Sendable {
    private(set) var count = Int.max

    /// Takes what came of asking for so many.
    mutating func note(asked: Int, came: Int, bytes: Int, of limit: Int) {
        if came < asked {
            count = min(count, max(1, came))
        } else if asked >= count, bytes <= limit / 2 {
            count = count > .max / 2 ? .max : count * 2
        }
    }
}

// Many revisions by one request.
extension HTTPPeer {
    /// What an answer has brought.
    struct BulkAnswer {
        var found: [(Asked, FetchedRevision)] = []
        /// What stands in no part of it that can be read.
        var rest: [Asked] = []
        /// Whether it was cut off by something that cannot be read.
        var isBroken = false
        /// The length of the documents that came, as text.
        var byteCount = 0
    }

    private enum End {
        /// Everything was read.
        case whole
        /// There are so many bytes of documents that the rest is left for another time.
        case full
        /// What follows cannot be read.
        case broken
    }

    /// Asks for all at once, with the content of attachments in place or without.
    ///
    /// - Parameters:
    ///   - asked: The revisions.
    ///   - withContents: Whether the content of attachments is to come along.
    ///   - held: The bytes of documents that are held already, for which there is that much less room.
    /// - Returns: What came; nil when the server cannot be asked so.
    /// - Throws: `ReplicationError`.
    func together(_ asked: [Asked], withContents: Bool = false, beside held: Int = 0) async throws
        -> BulkAnswer?
    {
        guard !asked.isEmpty else { return BulkAnswer() }
        let response = try await connection.respond(
            to: request(for: asked, withContents: withContents))
        noteServer(response)
        switch response.status {
        case 200...299: break
        case 400, 404, 405, 501:
            let body = try await response.beginning()
            guard !ServerAnswer(body).saysDatabaseIsMissing else {
                throw ReplicationError(response, body, "_bulk_get", at: name)
            }
            return nil
        // Some document is too much for the server, or for something before it; the others are not.
        case let status where status == 500 || withContents && [413, 502, 504].contains(status):
            try await response.drain()
            return BulkAnswer(rest: asked, isBroken: true)
        default:
            throw ReplicationError(response, try await response.beginning(), "_bulk_get", at: name)
        }
        var assembler = PartAssembler(database)
        let end = try await read(response, &assembler, asked.count, room: fetchBytes - held)
        // Of a document as many revisions may come as are asked for, so each has its own place.
        var results: [DocumentID: [RevisionID: FetchedRevision]] = [:]
        for one in assembler.whole where results[one.id]?[one.revision] == nil {
            results[one.id, default: [:]][one.revision] = one
        }
        var answer = BulkAnswer(isBroken: end == .broken, byteCount: assembler.byteCount)
        for one in asked {
            if let found = results[one.id]?[one.revision] {
                answer.found.append((one, found))
            } else if end != .full {
                answer.rest.append(one)
            }
        }
        return answer
    }

    private func request(for asked: [Asked], withContents: Bool) -> WireRequest {
        var text = Array(#"{"docs":["#.utf8)
        for (index, one) in asked.enumerated() {
            if index > 0 { text.append(ascii: ",") }
            text.append(ascii: #"{"id":"#)
            text.append(jsonString: one.id.text)
            text.append(ascii: #","rev":"#)
            text.append(jsonString: one.revision.description)
            if withContents, !one.known.isEmpty {
                text.append(ascii: #","atts_since":"#)
                JSONWriter.append(
                    .array(one.known.map { .string($0.description) }), to: &text)
            }
            text.append(ascii: "}")
        }
        text.append(ascii: "]}")
        var query = [
            (name: "revs", value: "true"),
            (name: "attachments", value: withContents ? "true" : "false"),
        ]
        // Who downloads content later must know how it is coded, and who gets it as it is kept.
        if withContents || !feed.bringsContents { query.append(("att_encoding_info", "true")) }
        return WireRequest(.post, "_bulk_get", query: query, body: .json(text))
    }

    /// Reads an answer as far as it can be read, and there is room for it.
    private func read(
        _ response: WireResponse, _ assembler: inout PartAssembler, _ count: Int, room: Int
    ) async throws -> End {
        func isEnough(_ assembler: PartAssembler) -> Bool {
            assembler.entryCount >= count
                || (assembler.byteCount >= room && !assembler.whole.isEmpty)
        }
        do {
            let type = (response.headers["Content-Type"] ?? "").lowercased()
            if type.hasBytePrefix("multipart/") {
                try await parts(response, &assembler, isList: true, until: isEnough)
            } else {
                try await entries(response, &assembler, until: isEnough)
            }
            guard assembler.entryCount < count, isEnough(assembler) else {
                // Behind the last one there is little, and the connection can be used again.
                try await response.drain()
                return .whole
            }
            return .full
        } catch is JSONObjectStream.Failure {
            return .broken
        } catch is WireDocumentError {
            return .broken
        } catch let error as ReplicationError where error.isOfOneAnswer {
            return .broken
        } catch let error as DatabaseError where error.isOfDisk {
            return .broken
        }
    }

    /// Reads the entries of a JSON answer, one by one.
    private func entries(
        _ response: WireResponse, _ assembler: inout PartAssembler,
        until isEnough: (PartAssembler) -> Bool
    ) async throws {
        var turn = AnswerTurn(longAnswers)
        var body = PacedBody(response.body, now: now)
        var stream = JSONObjectStream(
            array: "results", limit: Self.longestEntry, skipsLong: true)
        while let piece = try await body.next() {
            // A turn lasts until the documents of the piece are taken.
            await turn.hold(stream.heldBytes)
            stream.push(piece)
            while let event = try stream.next() {
                switch event {
                case .element(let text):
                    let isFit = await turn.parse(text)
                    assembler.take(entry: isFit ? text : [])
                case .longElement(let text): assembler.take(entry: text)
                case .member, .ended: break
                }
            }
            if isEnough(assembler) { return }
        }
        guard stream.isAtEnd else { throw JSONObjectStream.Failure.malformed }
    }

    /// Reads the parts of a multipart answer: documents, and the attachments that follow them.
    ///
    /// A list of documents may call itself `related`, too, as CouchDB's does where that is what the client accepts.
    func parts(
        _ response: WireResponse, _ assembler: inout PartAssembler, isList: Bool = false,
        until isEnough: (PartAssembler) -> Bool
    ) async throws {
        do {
            var reader = try MultipartReader(contentType: response.headers["Content-Type"])
            assembler.begin(
                isDocument: !isList && MultipartKind(response.headers) == .related)
            var turn = AnswerTurn(longAnswers)
            var body = PacedBody(response.body, now: now)
            while let piece = try await body.next() {
                await turn.hold(assembler.heldBytes)
                reader.push(piece)
                while let event = try reader.next() {
                    if case .partEnded = event {
                        let text = try await assembler.decodedText { await turn.hold($0) }
                        if let text, await !turn.parse(text) { throw tooLarge }
                    }
                    try assembler.take(event)
                }
                if isEnough(assembler) { return }
            }
            try reader.finish()
        } catch let failure as MultipartReader.Failure {
            throw ReplicationError(
                .invalidAnswer, "A multipart answer of '\(name)' cannot be read: \(failure)",
                isTransient: true)
        }
    }
}
