// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

// A server, asked for single attachments.
//
//     GET  db/doc/name?rev=…            Range: bytes=…-           the rest, after the connection broke
//                                       Accept-Encoding: gzip     where the stored bytes are coded
//     GET  db/doc/name                                            where that revision is gone there
//
extension HTTPPeer: AttachmentSource {
    /// Opens the stored bytes of an attachment.
    package func open(_ wanted: WantedAttachment, from offset: Int) async throws -> ArrivingContent
    {
        var response = try await connection.respond(
            to: request(.get, wanted, from: offset, ofSeenRevision: true))
        if response.status == 404 || response.status == 410 {
            try await response.drain()
            response = try await connection.respond(
                to: request(.get, wanted, from: offset, ofSeenRevision: false))
            if isOther(response, wanted) {
                throw ReplicationError.noAttachment(wanted, at: name)
            }
        }
        switch response.status {
        case 200: break
        case 206: return try part(response, wanted, from: offset)
        case 404, 410:
            try await response.drain()
            throw ReplicationError.noAttachment(wanted, at: name)
        default:
            var error = ReplicationError(
                response, try await response.beginning(), "an attachment of '\(wanted.documentID)'",
                at: name)
            error.documentID = wanted.documentID
            throw error
        }
        let coding = response.headers["Content-Encoding"]?.lowercased() ?? "identity"
        guard (coding == "gzip") == wanted.isCoded else {
            throw invalid("in another coding than it is stored in", wanted)
        }
        if let text = response.headers["Content-Length"], let length = Int(text, radix: 10),
            length != wanted.storedLength
        {
            throw invalid("with \(length) bytes, not \(wanted.storedLength)", wanted)
        }
        return ArrivingContent(start: 0, pieces: response.body)
    }

    /// Whether the server has the content: it says so of the revision, and has an answer to `HEAD`.
    package func has(
        _ wanted: WantedAttachment, md5: @Sendable () async throws -> String
    ) async throws -> Bool {
        let response = try await connection.respond(
            to: WireRequest(
                .get, DocumentPath.document(wanted.documentID.text),
                query: [
                    ("rev", wanted.revisionID.description), ("attachments", "false"),
                    ("att_encoding_info", "true"),
                ]))
        if [404, 410].contains(response.status) {
            try await response.drain()
            return false
        }
        let document = try await object(response, "'\(wanted.documentID)'")
        guard wanted.revisionID.description.hasSameBytes(as: document["_rev"]?.string),
            let digest = document["_attachments"]?[wanted.name]?["digest"]?.string
        else { return false }
        if !digest.hasSameBytes(as: wanted.digest) {
            guard digest.hasBytePrefix("md5-"), digest.hasSameBytes(as: try await md5()) else {
                return false
            }
        }
        // A server may know an attachment without having its content.
        let head = try await connection.respond(
            to: request(.head, wanted, from: 0, ofSeenRevision: true))
        try await head.drain()
        return head.status == 200
    }

    private func request(
        _ method: HTTPMethod, _ wanted: WantedAttachment, from offset: Int,
        ofSeenRevision isSeen: Bool
    ) -> WireRequest {
        var request = WireRequest(
            method, DocumentPath.attachment(wanted.name, of: wanted.documentID.text),
            query: isSeen ? [("rev", wanted.revisionID.description)] : [], accept: "*/*")
        request.wantsContent = true
        request.keepsCoding = true
        request.headers["Accept-Encoding"] = wanted.isCoded ? "gzip" : "identity"
        // Coded bytes have no ranges: theirs would be of what they decode to.
        if offset > 0, !wanted.isCoded { request.headers["Range"] = "bytes=\(offset)-" }
        return request
    }

    /// A part of the content, which must be the one that was asked for.
    private func part(_ response: WireResponse, _ wanted: WantedAttachment, from offset: Int) throws
        -> ArrivingContent
    {
        let range = response.headers["Content-Range"] ?? ""
        let end = wanted.storedLength.subtractingSaturated(1)
        guard offset > 0, range == "bytes \(offset)-\(end)/\(wanted.storedLength)" else {
            throw invalid("with another part of it than was asked for", wanted)
        }
        return ArrivingContent(start: offset, pieces: response.body)
    }

    /// Whether a server's tag says that this is other content. It is the digest where the server is CouchDB or a
    /// Divan; elsewhere it tells nothing, and the digest decides in the end.
    private func isOther(_ response: WireResponse, _ wanted: WantedAttachment) -> Bool {
        guard let tag = response.headers["ETag"]?.filter({ $0 != "\"" }),
            let digest = wanted.digest.split(separator: "-", maxSplits: 1).last.map(String.init)
        else { return false }
        return tag.utf8.count == digest.utf8.count && tag.hasByteSuffix("=")
            && !tag.hasSameBytes(as: digest)
    }

    private func invalid(_ what: String, _ wanted: WantedAttachment) -> ReplicationError {
        ReplicationError(
            .invalidAnswer,
            "'\(name)' answers with the attachment '\(wanted.name.bounded)' of "
                + "'\(wanted.documentID)' \(what).",
            documentID: wanted.documentID, isTransient: true)
    }
}
