// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON
internal import DivanModel
internal import Synchronization

// Feeds that stay open while nothing changes: continuous, server-sent events, WebSocket.
extension HTTPPeer {
    /// The kind of feed that waits: what is set, unless the server has turned out to lack it.
    private var liveForm: LiveFeed.Form? {
        let (isLacking, isGateway) = lacks.withLock { ($0.liveFeed, $0.isSyncGateway) }
        guard !isLacking else { return nil }
        // Only a Sync Gateway has a WebSocket, and that knows neither single documents nor selectors there.
        let messages =
            feed.documentIDs.isEmpty && feed.selector == nil ? LiveFeed.Form.messages : nil
        return switch feed.mode {
        case .automatic: isGateway ? messages : nil
        case .longpoll: nil
        case .continuous: .continuous
        case .eventSource: .eventSource
        case .webSocket: messages
        }
    }

    /// Waits for rows of the open feed, opening it where there is none at this place; `nil` when the server
    /// has no such feed, and is to be polled.
    func liveChanges(_ request: ChangesRequest) async throws -> ChangesPage? {
        guard let form = liveForm, let since = request.since else { return nil }
        let open = live.withLock { $0 }
        let current: LiveFeed
        if let open, await open.position == since {
            current = open
        } else {
            live.withLock { $0 = nil }
            guard let opened = try await openFeed(form, since: since) else {
                lacks.withLock { $0.liveFeed = true }
                return nil
            }
            live.withLock { $0 = opened }
            current = opened
        }
        let taken: LiveFeed.Taken
        do { taken = try await current.take() } catch let failure as ChangesFeedParser.Failure {
            live.withLock { $0 = nil }
            // A server that does not know the name of a feed answers with the normal one.
            guard failure == .malformed, await !current.hasGivenRows else {
                throw unreadable(failure)
            }
            lacks.withLock { $0.liveFeed = true }
            return nil
        }
        if taken.hasEnded { live.withLock { $0 = nil } }
        var page = ChangesPage(
            changes: [], lastSequence: RemoteSequence(taken.sequence) ?? since, isAtEnd: true)
        for row in taken.rows { take(row, &page) }
        await current.move(to: page.lastSequence)
        return page
    }

    private func openFeed(_ form: LiveFeed.Form, since: RemoteSequence) async throws -> LiveFeed? {
        form == .messages
            ? try await openMessages(since) : try await openStream(form, since)
    }

    private func openStream(_ form: LiveFeed.Form, _ since: RemoteSequence) async throws
        -> LiveFeed?
    {
        var request = ChangesRequest(since: since)
        request.waits = true
        let isEvents = form == .eventSource
        var wire = self.request(request, feed: isEvents ? "eventsource" : "continuous", limit: nil)
        if isEvents { wire.accept = "text/event-stream" }
        let response = try await connection.respond(to: wire)
        if [400, 404, 405, 406, 501].contains(response.status) {
            try await response.drain()
            return nil
        }
        guard (200...299).contains(response.status) else {
            throw ReplicationError(response, try await response.beginning(), "_changes", at: name)
        }
        let type = (response.headers["Content-Type"] ?? "").lowercased()
        // What is something else is not read on: it may never end.
        guard !isEvents || type.hasBytePrefix("text/event-stream") else { return nil }
        return LiveFeed(response.body, form, at: since)
    }

    /// Opens a WebSocket, as Sync Gateway has it: what is wanted goes as the first message.
    private func openMessages(_ since: RemoteSequence) async throws -> LiveFeed? {
        var options = feed.parameters
        options["since"] = since.value
        options["style"] = .string(feed.style)
        options["heartbeat"] = .integer(feed.heartbeatMilliseconds)
        if let filter = feed.filter { options["filter"] = .string(filter) }
        var wire = WireRequest(.get, "_changes", query: [("feed", "websocket")])
        wire.longestSilence = silence
        guard
            let pieces = try await connection.openSocket(
                to: wire, sending: Array(JSONWriter.string(.object(options)).utf8))
        else { return nil }
        return LiveFeed(pieces, .messages, at: since)
    }
}
