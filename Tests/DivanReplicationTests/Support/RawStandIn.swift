// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import Synchronization

@testable import DivanReplication

/// A server whose rows and documents are texts, so that it can say what no Divan would say.
///
/// State: what it holds, and what was asked of it, each guarded by its mutex.
final class RawStandIn: WireConnection {
    /// A document as the server has it.
    struct Item: Sendable {
        var id: String
        var revision: String
        /// The document with the stubs of its attachments.
        var text: String
        /// What is answered to a request for it alone: whether it names what the asker has.
        var alone: (@Sendable (_ namesKnown: Bool) -> (status: Int, body: String))?
        /// The row of `_changes`, where it is another one.
        var row: String?
        fileprivate(set) var sequence = 0
        /// The entry of `_bulk_get`, where it is another one; empty for none.
        var entry: String?

        init(_ id: String, _ revision: String, _ text: String) {
            (self.id, self.revision, self.text) = (id, revision, text)
        }
    }

    let name = "http://raw/db"
    private let items = Mutex<[Item]>([])
    private let lastSequence = Mutex(0)
    private let local = Mutex<[String: String]>([:])
    /// Each request: its method and path.
    let requests = Mutex<[String]>([])
    /// The documents that were asked for, each as often as it was.
    let asked = Mutex<[String]>([])
    /// Whether `_bulk_get` answers 500.
    let failsAtBulkGet = Mutex(false)
    /// Answers of `_bulk_get` of which not everything was read.
    let brokenOff = Mutex(0)

    /// Adds a document, or another revision of one.
    func add(_ item: Item) {
        var item = item
        item.sequence = lastSequence.withLock { last in
            last += 1
            return last
        }
        items.withLock { [item] items in
            items.removeAll { $0.id == item.id }
            items.append(item)
        }
    }

    func item(_ id: String) -> Item? { items.withLock { $0.first { $0.id == id } } }

    /// Changes what it says of a document, which keeps its place in the feed.
    func change(_ id: String, _ body: (inout Item) -> Void) {
        items.withLock { items in
            guard let index = items.firstIndex(where: { $0.id == id }) else { return }
            body(&items[index])
        }
    }

    func count(_ prefix: String) -> Int {
        requests.withLock { $0.filter { $0.hasPrefix(prefix) }.count }
    }

    func respond(to request: WireRequest) async throws -> WireResponse {
        requests.withLock { $0.append("\(request.method) \(request.path)") }
        var body: [UInt8] = []
        if case .bytes(let bytes, _) = request.body { body = bytes }
        switch request.path {
        case "": return Self.answer(200, #"{"db_name":"db"}"#)
        case "_changes": return changes(request)
        case "_bulk_get": return try bulkGet(body)
        case "_revs_diff", "_bulk_docs": return Self.answer(200, "{}")
        default: break
        }
        if request.path.hasPrefix("_local/") {
            guard request.method == .get else {
                local.withLock { $0[request.path] = text(body) }
                return Self.answer(201, #"{"ok":true,"rev":"0-1"}"#)
            }
            return local.withLock { $0[request.path] }.map { Self.answer(200, $0) }
                ?? Self.answer(404, #"{"error":"not_found","reason":"missing"}"#)
        }
        let id = PercentEncoding.decode(request.path) ?? ""
        asked.withLock { $0.append(id) }
        guard let item = items.withLock({ $0.first { $0.id == id } }) else {
            return Self.answer(404, #"{"error":"not_found","reason":"missing"}"#)
        }
        let namesKnown = request.query.contains { $0.name == "atts_since" }
        let answer = item.alone?(namesKnown) ?? (status: 200, body: item.text)
        return Self.answer(answer.status, answer.body)
    }

    private func changes(_ request: WireRequest) -> WireResponse {
        let since = request.query.last { $0.name == "since" }.flatMap { Int($0.value) } ?? 0
        let limit = request.query.last { $0.name == "limit" }.flatMap { Int($0.value) } ?? .max
        let left = items.withLock { $0.filter { $0.sequence > since } }
        let page = left.prefix(limit)
        let rows = page.map { item in
            item.row
                ?? #"{"seq":\#(item.sequence),"id":"\#(item.id)","#
                + #""changes":[{"rev":"\#(item.revision)"}]}"#
        }
        let last = page.last?.sequence ?? since
        return Self.answer(
            200,
            #"{"results":[\#(rows.joined(separator: ",\n"))],"last_seq":\#(last),"#
                + #""pending":\#(left.count - page.count)}"#)
    }

    private func bulkGet(_ body: [UInt8]) throws -> WireResponse {
        let items = items.withLock { $0 }
        let ids = try (JSONParser.parse(body)["docs"]?.array ?? []).compactMap { $0["id"]?.string }
        asked.withLock { $0 += ids }
        if failsAtBulkGet.withLock({ $0 }) {
            return Self.answer(500, #"{"error":"unknown_error","reason":"badarg"}"#)
        }
        var pieces = [#"{"results":["#]
        var isFirst = true
        for id in ids {
            guard let item = items.first(where: { $0.id == id }), item.entry != "" else { continue }
            pieces.append(
                (isFirst ? "" : ",")
                    + (item.entry ?? #"{"id":"\#(id)","docs":[{"ok":\#(item.text)}]}"#))
            isFirst = false
        }
        pieces.append("]}")
        return WireResponse(
            status: 200, headers: ["Content-Type": "application/json"],
            body: CountedPieces(pieces.map { Array($0.utf8) }, self))
    }

    static func answer(_ status: Int, _ body: String) -> WireResponse {
        WireResponse(
            status: status, headers: ["Content-Type": "application/json"],
            body: BytesPieces(Array(body.utf8)))
    }

    /// Notes when it is let go of before its end.
    private actor CountedPieces: WirePieces {
        private var pieces: [[UInt8]]
        private let server: RawStandIn

        init(_ pieces: [[UInt8]], _ server: RawStandIn) {
            self.pieces = pieces
            self.server = server
        }

        deinit { if !pieces.isEmpty { server.brokenOff.withLock { $0 += 1 } } }

        func next() -> [UInt8]? { pieces.isEmpty ? nil : pieces.removeFirst() }
    }
}

extension RawStandIn {
    /// Runs one pull from it, and returns what was reported of documents.
    ///
    /// - Throws: The error that ends it.
    @discardableResult
    func pull(
        into database: Database, deferring: Bool = false, failedFetches: FailedFetches? = nil,
        fetchBytes: Int = 4 << 20
    ) async throws -> [ReplicationEngine.Report] {
        var feed = HTTPPeer.Feed()
        feed.bringsContents = !deferring
        let peer = HTTPPeer(self, for: database, feed: feed, fetchBytes: fetchBytes)
        var reception = Reception(source: name)
        reception.isDeferring = deferring
        let local = LocalPeer(database, reception: reception)
        let keeper = CheckpointKeeper(
            ReplicationID(
                .init(localUUID: database.privateUUID, remoteURL: name, isPush: false)),
            local: local, remote: peer, isPush: false, incarnation: database.testIncarnation)
        var worker = ReplicationWorker(source: peer, target: local, keeper: keeper)
        worker.failedFetches = failedFetches
        failedFetches?.beginRun()
        let run = ReplicationRun(worker: worker, isContinuous: false)
        let reports = Mutex<[ReplicationEngine.Report]>([])
        try await run.run(until: StopSignal()) { _, new in
            reports.withLock { $0 += new }
        }
        return reports.withLock { $0 }
    }
}
