// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON

// Bodies that are objects, read value by value: a value that cannot be kept holds none of the others back.
extension Call {
    /// The body without its coding: in memory, or in the file in which it came.
    ///
    /// - Throws: `HTTPFailure` 413 when it is too long for memory, 415 when it is said to be something else than JSON.
    func plainBody() throws -> RequestBody {
        try checkContentType()
        let coding = headers["Content-Encoding"]?.lowercased() ?? "identity"
        if case .file = request.body, coding == "identity" { return request.body }
        return .bytes(try contentBytes())
    }

    /// Reads an object.
    ///
    /// - Parameters:
    ///   - body: Its text.
    ///   - array: The member whose elements come one by one; nil for none. Elements that are longer than a JSON body
    ///     may be are passed over.
    ///   - take: Gets what was read, and the text of the last member's name.
    /// - Returns: Whether the array was there.
    /// - Throws: `HTTPFailure` 400 when the text is no JSON object, 413 when a member is too long, and what `take`
    ///   throws.
    func readObject(
        _ body: RequestBody, array: String?,
        _ take: (JSONObjectStream.Event, [UInt8]) throws -> Void
    ) throws -> Bool {
        var stream = JSONObjectStream(
            array: array, limit: site.options.limits.jsonBody, skipsLong: true, patience: .max)
        let reader = body.reader()
        do {
            while true {
                let piece = try reader.read(upTo: 256 * 1_024)
                if piece.isEmpty { break }
                stream.push(piece)
                while let event = try stream.next() { try take(event, stream.nameText) }
            }
        } catch JSONObjectStream.Failure.tooLong {
            throw HTTPFailure.bodyTooLarge
        } catch is JSONObjectStream.Failure {
            throw stream.hasBegun
                ? HTTPFailure.brokenJSON(at: stream.position) : HTTPFailure.notAnObject
        }
        guard stream.isAtEnd else { throw HTTPFailure.brokenJSON(at: body.length) }
        return stream.hasArray
    }
}
