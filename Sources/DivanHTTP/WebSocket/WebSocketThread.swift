// SPDX-License-Identifier: Apache-2.0

internal import CCurl
internal import DivanJSON
internal import DivanSystem

/// The thread of one WebSocket: libcurl makes the connection, with its proxies, TLS and trust, and this
/// speaks frames on it.
///
///     connect ──► send the request ──► read the head ──► send the first message ──► read frames
///                                                           ping: pong       silence: end
///
/// It ends with the connection, after too long a silence, or when the reader has gone.
///
/// State: what it shares with the task that reads, in `state`; all else is the thread's own.
final class WebSocketThread: Sendable {
    /// The longest message.
    private static let messageLimit = 16 << 20
    private static let pieceSize = 64 * 1_024

    private let request: HTTPRequest
    private let settings: CurlSettings
    private let timeouts: HTTPTimeouts
    private let first: [UInt8]
    private let thread: CurlThread
    let state = WebSocketState()

    /// Makes a thread, which does not run yet.
    ///
    /// - Throws: `HTTPError` when there is no memory.
    init(_ request: HTTPRequest, _ options: CurlTransport.Options, first: [UInt8]) throws {
        thread = try CurlThread()
        self.request = request
        self.first = first
        timeouts = request.timeouts ?? options.timeouts
        settings = CurlSettings(request, options, timeouts: timeouts)
    }

    /// Runs it.
    ///
    /// - Throws: `HTTPError` when there is no thread.
    func start() throws {
        try thread.start { [self] multi in
            do {
                try converse(multi)
                state.finish(.success(()))
            } catch { state.finish(.failure(error)) }
        }
    }

    /// Has the thread look whether it is to end or to go on reading.
    func wake() { thread.wake() }

    private func converse(_ multi: CurlMulti) throws {
        guard let handle = CurlHandle(CurlTransfer(request, timeouts: timeouts)) else {
            throw HTTPError.noMemory
        }
        if let failure = settings.apply(to: handle) { throw failure }
        handle.set(DIVAN_CURL_CONNECT_ONLY, 1)
        handle.set(DIVAN_CURL_TUNNEL, 1)
        handle.set(DIVAN_CURL_ALLOW_HTTP2, 0)
        guard handle.add(to: multi) else { throw HTTPError.noMemory }
        defer { handle.remove(from: multi) }
        try connect(handle, multi)
        var wire = Wire(handle: handle, multi: multi, url: request.url, state: state)
        let handshake = WebSocketHandshake(request)
        try wire.send(handshake.bytes, within: timeouts.head)
        var received: [UInt8] = []
        while true {
            guard let piece = try wire.receive(within: timeouts.head, awaiting: "answer") else {
                throw HTTPError.endedInHead(request.url)
            }
            received += piece
            switch try handshake.read(received, from: request.url) {
            case nil: continue
            case .refused(let head)?: return state.answered(.refused(head))
            case .open(let rest)?: return try speak(&wire, rest)
            }
        }
    }

    private func connect(_ handle: CurlHandle, _ multi: CurlMulti) throws {
        while true {
            multi.perform()
            if state.hasEnded { throw CancellationError() }
            if let (_, result) = multi.nextDone() {
                guard result == DIVAN_CURL_OK else {
                    throw handle.failure(result)
                }
                return
            }
            multi.poll(milliseconds: 1_000)
        }
    }

    private func speak(_ wire: inout Wire, _ rest: ArraySlice<UInt8>) throws {
        var random = SystemRandomNumberGenerator()
        if !first.isEmpty {
            try wire.send(
                WebSocketFrames.frame(.text, first, using: &random), within: timeouts.head)
        }
        state.answered(.open)
        var frames = WebSocketFrames(limit: Self.messageLimit)
        frames.push(rest)
        while true {
            do throws(WebSocketFrames.Failure) {
                while let event = try frames.next() {
                    switch event {
                    // Some servers send an empty message as a sign of life.
                    case .message(let message): if !message.isEmpty { state.received(message) }
                    case .pong: break
                    // What has not gone out yet says the same, and a server that takes nothing must not fill
                    // the memory.
                    case .ping(let payload) where wire.hasSentAll:
                        wire.queue(WebSocketFrames.frame(.pong, payload, using: &random))
                    case .ping: break
                    case .close:
                        wire.queue(WebSocketFrames.frame(.close, [], using: &random))
                        return wire.flushOnce()
                    }
                }
            } catch { throw HTTPError.badFrames(request.url, error) }
            guard
                let piece = try wire.receive(within: timeouts.silence, awaiting: "next message")
            else { throw HTTPError.endedInSocket(request.url) }
            frames.push(piece[...])
        }
    }

    /// The connection, and what is still to be sent on it.
    private struct Wire {
        let handle: CurlHandle
        let multi: CurlMulti
        let url: HTTPURL
        let state: WebSocketState
        private var unsent: ArraySlice<UInt8> = []
        private var room = [UInt8](repeating: 0, count: WebSocketThread.pieceSize)

        init(handle: CurlHandle, multi: CurlMulti, url: HTTPURL, state: WebSocketState) {
            self.handle = handle
            self.multi = multi
            self.url = url
            self.state = state
        }

        var hasSentAll: Bool { unsent.isEmpty }

        mutating func queue(_ bytes: [UInt8]) { unsent += bytes }

        /// Sends what the connection takes at once.
        mutating func flushOnce() {
            while !unsent.isEmpty {
                guard case .bytes(let count) = handle.send(unsent) else { return }
                unsent = unsent.dropFirst(count)
            }
        }

        mutating func send(_ bytes: [UInt8], within time: Duration) throws {
            queue(bytes)
            let deadline = ContinuousClock.now + time.bounded
            while true {
                flushOnce()
                if unsent.isEmpty { return }
                try wait(until: deadline, time, awaiting: "connection")
            }
        }

        /// The next bytes; `nil` at the end of the connection.
        mutating func receive(within time: Duration, awaiting: String) throws -> [UInt8]? {
            var deadline = ContinuousClock.now + time.bounded
            while true {
                flushOnce()
                if state.isFull {
                    // It is the reader's turn; the server's silence does not count.
                    if state.hasEnded { throw CancellationError() }
                    multi.poll(milliseconds: 1_000)
                    deadline = .now + time.bounded
                    continue
                }
                switch handle.receive(into: &room) {
                case .bytes(let count): return count == 0 ? nil : Array(room[..<count])
                case .gone: return nil
                case .later: try wait(until: deadline, time, awaiting: awaiting)
                }
            }
        }

        private func wait(
            until deadline: ContinuousClock.Instant, _ time: Duration, awaiting: String
        ) throws {
            if state.hasEnded { throw CancellationError() }
            let left = (deadline - .now).milliseconds
            guard left > 0 else { throw HTTPError.silent(url, time, awaiting: awaiting) }
            guard
                handle.poll(
                    in: multi, writing: !unsent.isEmpty,
                    milliseconds: min(left.addingSaturated(1), 3_600_000))
            else { throw HTTPError.endedInSocket(url) }
        }
    }
}
