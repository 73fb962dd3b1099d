// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON

// Bodies: measured, paid for, and only then decoded and parsed.
extension Call {
    /// The body as packed JSON.
    ///
    /// - Throws: `HTTPFailure` 400 when it is not JSON, 413 when it is too long, 415 when it is said
    ///   to be something else, 503 when others take the memory.
    func packedBody() throws -> PackedValue {
        let bytes = try contentBytes()
        do { return try PackedValue(parsing: bytes) } catch { throw HTTPFailure.json(error) }
    }

    /// The body as a JSON object.
    func objectBody() throws -> JSONObject {
        guard let object = try valueBody().object else { throw HTTPFailure.notAnObject }
        return object
    }

    /// The body as JSON.
    func valueBody() throws -> JSONValue {
        let bytes = try contentBytes()
        do { return try JSONParser.parse(bytes) } catch { throw HTTPFailure.json(error) }
    }

    /// The body in memory, decoded if it is gzip.
    private func contentBytes() throws -> [UInt8] {
        if let short = try shortBody() { return short }
        let measure = try measureBody()
        try reserve(measure.cost(of: bodyKind))
        return try pieces().all(measure.bytes)
    }

    /// A body that is so short that nothing needs to be reserved for it, whatever is in it; nil for another one.
    private func shortBody() throws -> [UInt8]? {
        guard case .bytes(let bytes) = request.body, headers["Content-Encoding"] == nil,
            bytes.count <= min(MemoryBudget.free / 512, bodyLimits.bytes)
        else { return nil }
        try checkContentType()
        return bytes
    }

    /// The body from its beginning.
    func pieces() throws -> BodyPieces {
        try BodyPieces(request.body.reader(), coding: headers["Content-Encoding"])
    }

    /// Goes through the body, and keeps none of it.
    ///
    /// - Throws: `HTTPFailure` 413 when it is longer than the route and the user may have, 415 when it is said to be
    ///   something else than JSON.
    func measureBody() throws -> BodyMeasure {
        try checkContentType()
        return try BodyMeasure(pieces(), within: bodyLimits)
    }

    /// The most that the body may be.
    var bodyLimits: BodyMeasure.Limits { bodyKind.limits(for: user, site.options.limits) }

    /// Reserves memory for the request, in place of what it has.
    ///
    /// - Throws: `HTTPFailure` 413 when it could never fit, 503 when there was no room in time.
    func reserve(_ bytes: Int) throws { try memory.reserve(bytes, in: site.memory) }

    /// Refuses a `POST` that does not say that it is JSON, also one without a body, as CouchDB does: a form of a page on another
    /// site cannot say so.
    ///
    /// - Throws: `HTTPFailure` 415.
    func checkContentType() throws {
        // As CouchDB: `curl -d` sends a form's type with what it puts.
        guard request.head.method == "POST" else { return }
        let essence = (headers["Content-Type"] ?? "").prefix { $0 != ";" }.lowercased()
            .filter { !$0.isWhitespace }
        guard
            essence == "application/json" || essence == "text/json"
                || essence.hasByteSuffix("+json")
        else {
            throw HTTPFailure(
                415, "bad_content_type", "Content-Type must be application/json")
        }
    }

    /// Reads an object of which a list is long, or all members are many.
    ///
    /// - Parameters:
    ///   - pieces: Its text.
    ///   - array: The member whose elements come one by one; nil for none. Elements that are longer than a JSON body
    ///     may be are passed over.
    ///   - take: Gets what was read, and the text of the last member's name.
    /// - Returns: Whether the array was there.
    /// - Throws: `HTTPFailure` 400 when the text is no JSON object, 413 when a member is too long, and what `take`
    ///   throws.
    func readObject(
        _ pieces: BodyPieces, array: String?,
        _ take: (JSONObjectStream.Event, [UInt8]) throws -> Void
    ) throws -> Bool {
        var stream = JSONObjectStream(
            array: array, limit: site.options.limits.jsonBody, skipsLong: true, patience: .max)
        do {
            while let piece = try pieces.next() {
                stream.push(piece)
                while let event = try stream.next() { try take(event, stream.nameText) }
            }
        } catch JSONObjectStream.Failure.tooLong {
            throw HTTPFailure.bodyTooLarge
        } catch is JSONObjectStream.Failure {
            throw stream.hasBegun
                ? HTTPFailure.brokenJSON(at: stream.position) : HTTPFailure.notAnObject
        }
        guard stream.isAtEnd else { throw HTTPFailure.brokenJSON(at: stream.position) }
        return stream.hasArray
    }
}
