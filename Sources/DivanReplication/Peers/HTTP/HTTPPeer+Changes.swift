// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON
internal import DivanModel
internal import Synchronization

// The changes feed.
extension HTTPPeer {
    /// Reads a piece of the feed; where there is nothing it waits, in the way that the feed's mode says.
    ///
    /// - Throws: `ReplicationError`.
    package func changes(_ request: ChangesRequest) async throws -> ChangesPage {
        guard request.waits else { return try await polled(request, feed: "normal") }
        if let poll = feed.poll {
            try await Task.sleep(for: poll)
            return try await polled(request, feed: "normal")
        }
        let began = ContinuousClock.now
        let page: ChangesPage
        if let live = try await liveChanges(request) {
            page = live
        } else {
            page = try await polled(request, feed: "longpoll")
        }
        // A server that does not wait must not be asked again and again.
        if page.changes.isEmpty, began.duration(to: .now) < Self.shortestWait {
            try await Task.sleep(for: Self.shortestWait)
        }
        return page
    }

    private static let shortestWait = Duration.seconds(1)

    private func polled(_ request: ChangesRequest, feed kind: String) async throws -> ChangesPage {
        let response = try await connection.respond(
            to: self.request(request, feed: kind, limit: request.limit))
        guard (200...299).contains(response.status) else {
            throw ReplicationError(response, try await response.bytes(), "_changes", at: name)
        }
        if response.headers["Server"]?.hasPrefix("Couchbase Sync Gateway/") ?? false {
            lacks.withLock { $0.isSyncGateway = true }
        }
        return try await page(response, request)
    }

    /// How long a server may say nothing before it is taken for gone: two heartbeats, and a little.
    var silence: Duration { feed.heartbeat * 2 + .seconds(5) }

    /// The request for a feed.
    func request(_ request: ChangesRequest, feed kind: String, limit: Int?) -> WireRequest {
        var wire = WireRequest(.get, "_changes", query: query(request, kind, limit))
        if let body = selection {
            wire.method = .post
            wire.body = .json(body)
        }
        wire.longestSilence = silence
        return wire
    }

    private func query(_ request: ChangesRequest, _ kind: String, _ limit: Int?) -> [(
        name: String, value: String
    )] {
        var query: [(name: String, value: String)] = [
            ("feed", kind), ("style", feed.style),
            ("heartbeat", String(feed.heartbeat.components.seconds * 1_000)),
        ]
        if let limit { query.append(("limit", String(limit))) }
        if let since = request.since { query.append(("since", since.text)) }
        if request.isActiveOnly { query.append(("active_only", "true")) }
        if !feed.documentIDs.isEmpty {
            query.append(("filter", "_doc_ids"))
        } else if feed.selector != nil {
            query.append(("filter", "_selector"))
        } else if let filter = feed.filter {
            query.append(("filter", filter))
        }
        for (key, value) in feed.parameters {
            query.append((key, value.string ?? JSONWriter.string(value)))
        }
        return query
    }

    /// What servers read in the body alone.
    private var selection: JSONValue? {
        if !feed.documentIDs.isEmpty {
            return ["doc_ids": .array(feed.documentIDs.map { .string($0) })]
        }
        return feed.selector.map { ["selector": .object($0)] }
    }

    private func page(_ response: WireResponse, _ request: ChangesRequest) async throws
        -> ChangesPage
    {
        var parser = ChangesFeedParser(.normal)
        var changes: [PeerChange] = []
        var failures: [ReplicationError] = []
        var last: JSONValue?
        var pending: Int?
        var rows = 0
        do {
            while let piece = try await response.body.next() {
                parser.push(piece)
                while let event = try parser.next() {
                    switch event {
                    case .row(let row):
                        rows += 1
                        last = row.sequence ?? last
                        take(row, &changes, &failures)
                    case .heartbeat: break
                    case .ended(let sequence, let left):
                        last = sequence ?? last
                        pending = left
                    }
                }
            }
            try parser.finish()
        } catch let failure as ChangesFeedParser.Failure {
            throw unreadable(failure)
        }
        guard let sequence = RemoteSequence(last) ?? request.since else {
            throw ReplicationError(
                .invalidAnswer, "The changes feed of '\(name)' names no last sequence.",
                isTransient: true)
        }
        var page = ChangesPage(
            changes: changes, lastSequence: sequence,
            isAtEnd: rows < request.limit && pending ?? 0 == 0, pending: pending)
        page.failures = failures
        return page
    }

    func unreadable(_ failure: ChangesFeedParser.Failure) -> ReplicationError {
        ReplicationError(
            .invalidAnswer, "The changes feed of '\(name)' cannot be read: \(failure)",
            isTransient: true)
    }

    /// Takes a row, where it is of a document.
    func take(
        _ row: ChangesFeedRow, _ changes: inout [PeerChange], _ failures: inout [ReplicationError]
    ) {
        // What a Sync Gateway tells of users is no document.
        if row.documentID.hasPrefix("_"), !row.documentID.hasPrefix("_design/") { return }
        do {
            changes.append(
                PeerChange(
                    id: try DocumentID(row.documentID),
                    revisions: try row.revisions.map { try RevisionID($0) },
                    isDeleted: row.isDeleted))
        } catch {
            failures.append(
                ReplicationError(
                    .invalidAnswer,
                    "'\(row.documentID.prefix(100))' cannot be replicated: \(error)",
                    documentID: String(row.documentID.prefix(200))))
        }
    }
}
