// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON

/// Writes `_db_updates`, in any of the modes of a changes feed.
struct DatabaseUpdatesFeed: ResponseSteps {
    /// How often databases that the app makes and deletes itself are looked for.
    private static let lookInterval = Duration.seconds(5)

    private let site: Site
    private let mode: ChangesRequest.Mode
    private let heartbeat: Duration
    private let timeout: Duration?
    private var position: UInt64
    private var wake: (@Sendable () -> Void)?
    private var follower: Int?
    private var hasBegun = false
    private var isDone = false
    private var isConcluding = false
    private var written = 0
    private var lastOutput = ContinuousClock.now
    private var lastEvent = ContinuousClock.now

    init(_ call: Call) throws {
        site = call.site
        mode = try ChangesRequest.Mode(call.query["feed"])
        _ = try call.query.count("limit")
        let times = try ChangesRequest.times(call.query)
        heartbeat = times.0 ?? ChangesRequest.defaultTimeout
        timeout = times.1
        try site.updates.look(site.manager)
        switch call.headers["Last-Event-ID"] ?? call.query["since"] {
        case nil: position = 0
        case "now": position = site.updates.last
        case let text?: position = site.updates.number(text)
        }
    }

    var lane: ProductionLane { mode == .normal ? .answers : .feeds }

    mutating func whenReady(_ wake: @escaping @Sendable () -> Void) {
        self.wake = wake
        if mode != .normal { follower = site.updates.follow(wake) }
    }

    mutating func conclude() { isConcluding = true }

    mutating func cancel() {
        follower.map(site.updates.remove)
        follower = nil
    }

    mutating func next() throws -> Production {
        guard !isDone else { return .end }
        var text = JSONText()
        if !hasBegun {
            hasBegun = true
            if mode == .normal || mode == .longpoll { text.raw("{\"results\":[\n") }
        }
        try site.updates.look(site.manager)
        for event in site.updates.events(after: position) { append(event, &text) }
        if mode == .normal || isConcluding || (mode == .longpoll && written > 0) { end(&text) }
        if !text.bytes.isEmpty {
            lastOutput = .now
            return .bytes(text.bytes)
        }
        return isDone ? .end : pause()
    }

    private mutating func pause() -> Production {
        var text = JSONText()
        if let timeout {
            let left = timeout - lastEvent.duration(to: .now)
            if left > .zero { return .wait(min(left, Self.lookInterval)) }
            end(&text)
        } else {
            let left = heartbeat - lastOutput.duration(to: .now)
            if left > .zero { return .wait(min(left, Self.lookInterval)) }
            if mode == .eventsource {
                text.raw("event: heartbeat\ndata: \n\n")
            } else {
                text.raw("\n")
            }
        }
        lastOutput = .now
        return text.bytes.isEmpty ? .end : .bytes(text.bytes)
    }

    private mutating func append(_ event: DatabaseUpdates.Event, _ text: inout JSONText) {
        let place = site.updates.sequence(event.number)
        if mode == .eventsource { text.raw("data: ") }
        if written > 0, mode == .normal || mode == .longpoll { text.raw(",\n") }
        text.value([
            "db_name": .string(event.name), "type": .string(event.kind.rawValue),
            "seq": .string(place),
        ])
        switch mode {
        case .normal, .longpoll: break
        case .continuous: text.raw("\n")
        case .eventsource:
            text.raw("\nid: ")
            text.bytes += place.utf8
            text.raw("\n\n")
        }
        written += 1
        position = event.number
        lastEvent = .now
    }

    private mutating func end(_ text: inout JSONText) {
        isDone = true
        switch mode {
        case .normal, .longpoll: text.raw("\n],\n\"last_seq\":")
        case .continuous: text.raw("{\"last_seq\":")
        case .eventsource: return
        }
        text.string(site.updates.sequence(position))
        text.raw("}\n")
    }
}

extension Call {
    /// `GET /_db_updates`
    func databaseUpdates() throws -> ListenerResponse {
        let feed = try DatabaseUpdatesFeed(self)
        let isEvents = query["feed"] == ChangesRequest.Mode.eventsource.rawValue
        var response = ListenerResponse.json(steps: feed)
        if isEvents { response.headers["Content-Type"] = "text/event-stream" }
        return response
    }
}
