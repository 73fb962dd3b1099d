// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON

/// The documents of a `_bulk_docs`, in batches, whatever the length of the body.
///
///     measure ──► reserve ──► parse everything ──► few documents? they are the one batch
///                                 │ otherwise they are let go
///                                 ▼
///                             parse again: a batch, save it, the next batch, …
///
/// Everything is parsed before anything is saved: what stands beside the documents often comes behind them, and a
/// text that breaks off saves nothing. A batch is parsed before its transaction is opened, so no other client that writes to the
/// database waits for a parser.
struct BulkBody {
    /// A batch ends when its documents have so many bytes of text, or are so many.
    private static let (batchBytes, batchCount) = (4 << 20, 10_000)

    private let call: Call
    /// All documents, where they are one batch.
    private let items: [BulkItem]?
    /// Whether revisions are made here.
    let makesRevisions: Bool
    /// Whether one failure undoes all.
    let isAtomic: Bool
    /// How long the answer may get.
    let longestAnswer: Int

    /// Parses the body.
    ///
    /// - Throws: `HTTPFailure` 400 when there are no documents, or the body is no JSON; 413 when it takes more memory than
    ///   there is.
    init(_ call: Call) throws {
        self.call = call
        let measure = try call.measureBody()
        longestAnswer = Self.longestAnswer(to: measure)
        try Self.reserve(Self.batchBytes, Self.batchCount, of: measure, for: call)
        var options: JSONObject = [:]
        var batch = Batch()
        var names = 0
        let hasArray = try call.readObject(call.pieces(), array: "docs") { event, _ in
            if case .member(let name, let text) = event, Self.optionNames.contains(name) {
                do throws(JSONParser.Failure) { options[name] = try JSONParser.parse(text) } catch {
                    throw HTTPFailure.json(error, "The member `\(name)`")
                }
            } else if let item = try BulkItem(event) {
                names += item.nameLength
                batch.add(item, event)
            }
        }
        // Later some of it would be saved already.
        guard names <= Self.longestNames(in: measure) else { throw HTTPFailure.bodyTooLarge }
        guard hasArray else {
            throw HTTPFailure.badRequest(
                options["docs"] == nil
                    ? "POST body must include `docs` parameter."
                    : "`docs` parameter must be an array.")
        }
        items = batch.isWhole ? batch.items : nil
        makesRevisions = try Self.flag("new_edits", options["new_edits"], true)
        isAtomic = try Self.flag("all_or_nothing", options["all_or_nothing"], false)
        if isAtomic, items == nil { try Self.reserve(.max, .max, of: measure, for: call) }
    }

    /// Documents that are kept until they are too many for a batch.
    private struct Batch {
        var items: [BulkItem] = []
        var isWhole = true
        private var size = 0

        var isFull: Bool { size >= BulkBody.batchBytes || items.count >= BulkBody.batchCount }

        mutating func add(_ item: BulkItem, _ event: JSONObjectStream.Event) {
            if isFull {
                isWhole = false
                items = []
            }
            guard isWhole else { return }
            append(item, event)
        }

        mutating func append(_ item: BulkItem, _ event: JSONObjectStream.Event) {
            items.append(item)
            if case .element(let text) = event { size += text.count }
        }
    }

    private static func reserve(
        _ bytes: Int, _ count: Int, of measure: BodyMeasure, for call: Call
    ) throws {
        // An array that grows has the old elements beside the new ones.
        try call.reserve(
            measure.cost(of: .documents, holding: bytes, elements: count)
                .addingSaturated(longestAnswer(to: measure).multipliedSaturated(by: 3)))
    }

    /// A few hundred bytes for each document, and some for IDs that are long.
    private static func longestAnswer(to measure: BodyMeasure) -> Int {
        measure.elements.multipliedSaturated(by: 256)
            .addingSaturated((64 << 10) + longestNames(in: measure))
    }

    /// The room for the IDs in an answer.
    private static func longestNames(in measure: BodyMeasure) -> Int { min(measure.bytes, 8 << 20) }

    private static let optionNames: NameSet = ["docs", "new_edits", "all_or_nothing"]

    /// A member beside the documents that is true or false.
    private static func flag(_ name: String, _ value: JSONValue?, _ default: Bool) throws -> Bool {
        guard let value else { return `default` }
        guard let flag = value.bool else {
            throw HTTPFailure.badRequest("`\(name)` parameter must be a boolean.")
        }
        return flag
    }

    /// Calls a closure with the documents, in their order: with all of them where one failure undoes all, otherwise
    /// with a batch at a time.
    func forEachBatch(_ save: ([BulkItem]) throws -> Void) throws {
        if let items { return try save(items) }
        var batch = Batch()
        _ = try call.readObject(call.pieces(), array: "docs") { event, _ in
            guard let item = try BulkItem(event) else { return }
            batch.append(item, event)
            guard !isAtomic, batch.isFull else { return }
            try save(batch.items)
            batch = Batch()
        }
        if !batch.items.isEmpty { try save(batch.items) }
    }
}
