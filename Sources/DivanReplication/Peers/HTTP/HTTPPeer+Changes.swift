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
        if let poll = feed.poll ?? pollForIDs {
            try await Task.sleep(for: poll)
            return try await polled(request, feed: "normal")
        }
        let began = ContinuousClock.now
        let page: ChangesPage
        if let live = try await liveChanges(request) {
            page = live
        } else {
            do { page = try await polled(request, feed: "longpoll") } catch let error
                as ReplicationError where error.status == 400 && !feed.documentIDs.isEmpty
            {
                lacks.withLock { $0.waitingForIDs = true }
                return try await changes(request)
            }
        }
        // A server that does not wait, or tells the same again, must not be asked again and again.
        if page.changes.isEmpty || page.lastSequence == request.since,
            began.duration(to: .now) < Self.shortestWait
        {
            try await Task.sleep(for: Self.shortestWait)
        }
        return page
    }

    /// The longest row: it names some 80,000 leaves.
    static let longestRow = 4 << 20
    /// The bytes of rows after which a page ends.
    private static let pageBytes = 4 << 20
    private static let shortestWait = Duration.seconds(1)

    /// How often a server is asked that cannot wait for single documents, as a Sync Gateway; nil elsewhere.
    private var pollForIDs: Duration? {
        guard !feed.documentIDs.isEmpty,
            lacks.withLock({ $0.isSyncGateway || $0.waitingForIDs })
        else { return nil }
        return min(feed.heartbeat, .seconds(10))
    }

    private func polled(_ request: ChangesRequest, feed kind: String) async throws -> ChangesPage {
        var response = try await connection.respond(
            to: self.request(request, feed: kind, limit: request.limit))
        if response.status == 405, !feed.documentIDs.isEmpty {
            try await response.drain()
            lacks.withLock { $0.postedChanges = true }
            response = try await connection.respond(
                to: self.request(request, feed: kind, limit: request.limit))
        }
        guard (200...299).contains(response.status) else {
            throw try await refusal(of: response)
        }
        if response.headers["Server"]?.hasBytePrefix("Couchbase Sync Gateway") ?? false {
            lacks.withLock { $0.isSyncGateway = true }
        }
        return try await page(response, request)
    }

    /// The error of a feed that is refused. A server has one answer for a database that is missing and for a filter.
    private func refusal(of response: WireResponse) async throws -> ReplicationError {
        let body = try await response.beginning()
        var error = ReplicationError(response, body, "_changes", at: name)
        if error.status == 400, feed.filter != nil || feed.selector != nil {
            error.code = .invalidSetting
        }
        if let filter = feed.filter, Self.tellsOfFunction(body) {
            error.isTransient = false
            error.message = "The filter '\(filter)' fails. \(error.message)"
            return error
        }
        guard let filter = feed.filter, error.code == .notFound, try await information().exists
        else { return error }
        error.code = .invalidSetting
        error.message = "The filter '\(filter)' is not there. \(error.message)"
        return error
    }

    /// Whether a refusal is that of a filter function, which throws again each time: it has the name of an exception, where
    /// CouchDB has words of its own for what goes wrong with the server.
    private static func tellsOfFunction(_ body: [UInt8]) -> Bool {
        let name = (try? PackedValue(parsing: body))?["error"]?.string ?? ""
        return functionErrors.contains(name)
    }

    private static let functionErrors: NameSet = [
        "Error", "EvalError", "InternalError", "RangeError", "ReferenceError", "SyntaxError",
        "TypeError", "URIError", "unnamed_error", "compilation_error", "invalid_require_path",
    ]

    /// How long a server may say nothing before it is taken for gone: two heartbeats, and a little.
    var silence: Duration { feed.heartbeat * 2 + .seconds(5) }

    /// The request for a feed.
    ///
    /// What is asked stands in the query, where CouchDB looks for it. Where something must be in a body, all
    /// the rest is there, too: a Sync Gateway reads nothing else of such a request.
    func request(_ request: ChangesRequest, feed kind: String, limit: Int?) -> WireRequest {
        var options = options(request, kind, limit)
        var body: JSONObject?
        if let selector = feed.selector, feed.documentIDs.isEmpty {
            body = ["selector": .object(selector)]
        } else if !feed.documentIDs.isEmpty {
            let ids = JSONValue.array(feed.documentIDs.map { .string($0.text) })
            if lacks.withLock({ $0.postedChanges }) {
                options.append(("doc_ids", ids))
            } else {
                body = ["doc_ids": ids]
            }
        }
        var wire = WireRequest(.get, "_changes")
        wire.query = options.map { ($0.name, $0.value.parameterText) }
        if let names = FilterParameters.typedNames(feed.parameters) {
            wire.headers.add(FilterParameters.typedField, names)
        }
        if var body {
            for option in options { body[option.name] = option.value }
            wire.method = .post
            wire.body = .json(.object(body))
        }
        wire.longestSilence = silence
        return wire
    }

    private func options(_ request: ChangesRequest, _ kind: String, _ limit: Int?) -> [(
        name: String, value: JSONValue
    )] {
        var options: [(name: String, value: JSONValue)] = [
            ("feed", .string(kind)), ("style", .string(feed.style)),
            ("heartbeat", .integer(feed.heartbeatMilliseconds)),
        ]
        if let limit { options.append(("limit", JSONValue(limit))) }
        if let since = request.since { options.append(("since", since.value)) }
        if request.isActiveOnly { options.append(("active_only", true)) }
        if !feed.documentIDs.isEmpty {
            options.append(("filter", "_doc_ids"))
        } else if feed.selector != nil {
            options.append(("filter", "_selector"))
        } else if let filter = feed.filter {
            options.append(("filter", .string(filter)))
        }
        options += feed.parameters.map { ($0.key, $0.value) }
        return options
    }

    private func page(_ response: WireResponse, _ request: ChangesRequest) async throws
        -> ChangesPage
    {
        var parser = ChangesFeedParser(.normal, maximumRowLength: Self.longestRow)
        var page = ChangesPage(changes: [], lastSequence: RemoteSequence(0), isAtEnd: false)
        var last: JSONValue?
        var pending: Int?
        var rows = 0
        do {
            while let piece = try await response.body.next() {
                parser.push(piece)
                // Members that mean nothing can go on for ever, too.
                guard parser.position < Self.pageBytes * 16 else {
                    throw ChangesFeedParser.Failure.malformed
                }
                while let event = try parser.next() {
                    switch event {
                    case .row(let row):
                        // A server that knows no limit would send the whole database as one page, and one that
                        // means harm rows without end.
                        if rows == request.limit || (rows > 0 && parser.position > Self.pageBytes),
                            let last = RemoteSequence(last)
                        {
                            page.lastSequence = last
                            return try checked(page, request)
                        }
                        rows += 1
                        last = row.sequence ?? last
                        take(row, &page)
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
        // Where nothing was told and the place is the same there is no more, whatever a server thinks of.
        let hasMoved = sequence != request.since
        page.isAtEnd = rows < request.limit && (pending ?? 0 <= 0 || (rows == 0 && !hasMoved))
        page.lastSequence = sequence
        page.pending = pending.map { max(0, $0) }
        return try checked(page, request)
    }

    /// A page, behind which there is more only when it leads somewhere: a feed that begins anew each time it is
    /// asked would be read for ever.
    private func checked(_ page: ChangesPage, _ request: ChangesRequest) throws -> ChangesPage {
        guard page.isAtEnd || request.waits || page.lastSequence != request.since else {
            throw ReplicationError(
                .invalidAnswer,
                "The changes feed of '\(name)' does not move on from \(page.lastSequence).",
                isTransient: true)
        }
        return page
    }

    func unreadable(_ failure: ChangesFeedParser.Failure) -> ReplicationError {
        ReplicationError(
            .invalidAnswer, "The changes feed of '\(name)' cannot be read: \(failure)",
            isTransient: true)
    }

    /// Takes a row, where it is of a document. What of it makes no sense is told of.
    func take(_ row: ChangesFeedRow, _ page: inout ChangesPage) {
        let bytes = row.documentID.utf8
        // What a Sync Gateway tells of users and roles is no document.
        if bytes.starts(with: "_user/".utf8) || bytes.starts(with: "_role/".utf8) { return }
        // A server may pass over what it was told to leave out.
        guard wantedIDs.isEmpty || bytes.isEmpty || wantedIDs.contains(DocumentID(row.documentID))
        else { return }
        var problem = row.problem
        var revisions: [RevisionID] = []
        for text in row.revisions {
            do throws(IDFailure) { revisions.append(try RevisionID(validating: text)) } catch {
                problem = error.description
            }
        }
        do throws(IDFailure) {
            let id = try DocumentID(validating: row.documentID)
            if !revisions.isEmpty {
                page.changes.append(
                    PeerChange(id: id, revisions: revisions, isDeleted: row.isDeleted))
            }
        } catch { problem = problem ?? error.description }
        guard let problem else { return }
        // Without an ID its place says which one it was.
        let place =
            row.sequence.map { " (sequence \(RemoteSequence($0)?.text.bounded ?? "?"))" } ?? ""
        let id = bytes.isEmpty ? "?" + place : row.documentID.bounded
        page.failures.append(
            ReplicationError(
                .invalidAnswer, "'\(id)' of '\(name)' cannot be replicated. \(problem)",
                documentID: DocumentID(id)))
    }
}
