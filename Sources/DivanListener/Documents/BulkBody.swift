// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON

/// The documents of a `_bulk_docs`, one by one, whatever the length of the body.
///
/// A body in memory is parsed whole. One that lies in a file is read through twice: for what stands beside the
/// documents, which often comes behind them, and for the documents.
struct BulkBody {
    private enum Source {
        case value(PackedValue)
        case file(RequestBody)
    }

    private let source: Source
    private let limit: Int
    /// Whether revisions are made here.
    let makesRevisions: Bool
    /// Whether one failure undoes all.
    let isAtomic: Bool

    /// Reads what stands beside the documents.
    ///
    /// - Throws: `HTTPFailure` 400 when there are no documents, or the body is no JSON.
    init(_ call: Call) throws {
        limit = call.site.options.limits.jsonBody
        let coding = call.headers["Content-Encoding"]?.lowercased() ?? "identity"
        guard case .file = call.request.body, coding == "identity" else {
            let body = try call.packedBody()
            guard body.isObject else { throw HTTPFailure.notAnObject }
            guard let list = body["docs"] else { throw Self.missing }
            guard list.kind == .array else { throw Self.noArray }
            source = .value(list)
            makesRevisions = try Self.flag("new_edits", body["new_edits"]?.jsonValue(), true)
            isAtomic = try Self.flag("all_or_nothing", body["all_or_nothing"]?.jsonValue(), false)
            return
        }
        try call.checkContentType()
        source = .file(call.request.body)
        var options: JSONObject = [:]
        let hasArray = try Self.read(call.request.body, limit) { event in
            guard case .member(let name, let text) = event,
                text.count < 64 || ["new_edits", "all_or_nothing"].contains(name)
            else { return }
            options[name] = try JSONParser.parse(text)
        }
        guard hasArray else { throw options["docs"] == nil ? Self.missing : Self.noArray }
        makesRevisions = try Self.flag("new_edits", options["new_edits"], true)
        isAtomic = try Self.flag("all_or_nothing", options["all_or_nothing"], false)
    }

    /// A member beside the documents that is true or false.
    private static func flag(_ name: String, _ value: JSONValue?, _ default: Bool) throws -> Bool {
        guard let value else { return `default` }
        guard let flag = value.bool else {
            throw HTTPFailure.badRequest("`\(name)` parameter must be a boolean.")
        }
        return flag
    }

    private static var missing: HTTPFailure {
        .badRequest("POST body must include `docs` parameter.")
    }
    private static var noArray: HTTPFailure { .badRequest("`docs` parameter must be an array.") }

    /// Calls a closure with each document, in their order.
    ///
    /// - Throws: `HTTPFailure` 400 when one is no document, and what the closure throws.
    func forEach(_ body: (ReceivedDocument) throws -> Void) throws {
        switch source {
        case .value(let list):
            // All are looked at before any is saved.
            var documents: [ReceivedDocument] = []
            documents.reserveCapacity(list.count)
            try list.forEachElement { documents.append(try ReceivedDocument($0)) }
            for document in documents { try body(document) }
        case .file(let file):
            _ = try Self.read(file, limit) { event in
                guard case .element(let text) = event else { return }
                let value: PackedValue
                do { value = try PackedValue(parsing: text) } catch {
                    throw HTTPFailure.invalidJSON
                }
                try body(try ReceivedDocument(value))
            }
        }
    }

    /// Reads the body; whether the array was there.
    private static func read(
        _ body: RequestBody, _ limit: Int, _ take: (JSONObjectStream.Event) throws -> Void
    ) throws -> Bool {
        var stream = JSONObjectStream(array: "docs", limit: limit)
        let reader = body.reader()
        do {
            while true {
                let piece = try reader.read(upTo: 256 * 1_024)
                if piece.isEmpty { break }
                stream.push(piece)
                while let event = try stream.next() { try take(event) }
            }
        } catch let failure as JSONObjectStream.Failure {
            throw failure == .tooLong ? HTTPFailure.bodyTooLarge : HTTPFailure.invalidJSON
        }
        guard stream.isAtEnd else { throw HTTPFailure.invalidJSON }
        return stream.hasArray
    }
}
