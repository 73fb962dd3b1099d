// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

// The changes feed.
extension HTTPPeer {
    /// Reads a piece of the feed; waits by longpoll where there is nothing.
    ///
    /// - Throws: `ReplicationError`.
    package func changes(_ request: ChangesRequest) async throws -> ChangesPage {
        var waits = request.waits
        if waits, let poll = feed.poll {
            try await Task.sleep(for: poll)
            waits = false
        }
        var wire = WireRequest(.get, "_changes", query: query(request, waits: waits))
        if let body = selection {
            wire.method = .post
            wire.body = .json(body)
        }
        // A server that says nothing for two heartbeats is gone.
        wire.longestSilence = feed.heartbeat * 2 + .seconds(5)
        let response = try await connection.respond(to: wire)
        guard (200...299).contains(response.status) else {
            throw ReplicationError(response, try await response.bytes(), "_changes", at: name)
        }
        return try await page(response, request)
    }

    private func query(_ request: ChangesRequest, waits: Bool) -> [(name: String, value: String)] {
        var query: [(name: String, value: String)] = [
            ("feed", waits ? "longpoll" : "normal"), ("style", "all_docs"),
            ("heartbeat", String(feed.heartbeat.components.seconds * 1_000)),
            ("limit", String(request.limit)),
        ]
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
            throw ReplicationError(
                .invalidAnswer, "The changes feed of '\(name)' cannot be read: \(failure)",
                isTransient: true)
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

    private func take(
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
