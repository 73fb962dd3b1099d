// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON

/// The documents of a `_bulk_docs`, one by one, whatever the length of the body.
///
/// Those of a body in memory are all parsed before any is saved. A body that lies in a file is read through twice:
/// for what stands beside the documents, which often comes behind them, and for the documents.
struct BulkBody {
    private enum Source {
        case items([BulkItem])
        case file(RequestBody)
    }

    private let call: Call
    private let source: Source
    /// Whether revisions are made here.
    let makesRevisions: Bool
    /// Whether one failure undoes all.
    let isAtomic: Bool

    /// Reads what stands beside the documents.
    ///
    /// - Throws: `HTTPFailure` 400 when there are no documents, or the body is no JSON.
    init(_ call: Call) throws {
        self.call = call
        let body = try call.plainBody()
        var options: JSONObject = [:]
        var items: [BulkItem] = []
        let hasArray = try call.readObject(body, array: "docs") { event, _ in
            if case .member(let name, let text) = event, Self.optionNames.contains(name) {
                do throws(JSONParser.Failure) { options[name] = try JSONParser.parse(text) } catch {
                    throw HTTPFailure.json(error, "The member `\(name)`")
                }
            } else if case .bytes = body, let item = try BulkItem(event) {
                items.append(item)
            }
        }
        guard hasArray else {
            throw HTTPFailure.badRequest(
                options["docs"] == nil
                    ? "POST body must include `docs` parameter."
                    : "`docs` parameter must be an array.")
        }
        if case .bytes = body { source = .items(items) } else { source = .file(body) }
        makesRevisions = try Self.flag("new_edits", options["new_edits"], true)
        isAtomic = try Self.flag("all_or_nothing", options["all_or_nothing"], false)
    }

    private static let optionNames: NameSet = ["docs", "new_edits", "all_or_nothing"]

    /// A member beside the documents that is true or false.
    private static func flag(_ name: String, _ value: JSONValue?, _ default: Bool) throws -> Bool {
        guard let value else { return `default` }
        guard let flag = value.bool else {
            throw HTTPFailure.badRequest("`\(name)` parameter must be a boolean.")
        }
        return flag
    }

    /// Calls a closure with each document, in their order.
    ///
    /// - Throws: `HTTPFailure` 400 when a text is no JSON, and what the closure throws.
    func forEach(_ body: (BulkItem) throws -> Void) throws {
        switch source {
        case .items(let items): for item in items { try body(item) }
        case .file(let file):
            _ = try call.readObject(file, array: "docs") { event, _ in
                if let item = try BulkItem(event) { try body(item) }
            }
        }
    }
}
