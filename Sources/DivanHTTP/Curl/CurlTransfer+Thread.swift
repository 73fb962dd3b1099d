// SPDX-License-Identifier: Apache-2.0

internal import CCurl
internal import DivanSystem
internal import Synchronization

/// What the loop's thread does: libcurl's callbacks, and the clock.
extension CurlTransfer {
    /// Which directions must stand still: receiving, sending.
    var pauses: (receiving: Bool, sending: Bool) {
        state.withLock { ($0.isReceivingPaused, $0.isSendingPaused) }
    }

    /// When the server will have been silent for too long; `nil` while it is not the server's turn.
    var deadline: (instant: ContinuousClock.Instant, awaited: String, time: Duration)? {
        state.withLock { state in
            guard state.outcome == nil else { return nil }
            guard state.isHeadWhole else {
                if state.isSendingPaused { return nil }
                return (state.lastActivity + timeouts.head.bounded, "answer", timeouts.head)
            }
            if state.isReceivingPaused { return nil }
            return (state.lastActivity + timeouts.silence.bounded, "next bytes", timeouts.silence)
        }
    }

    /// Takes a line of a head.
    ///
    /// - Returns: The number of bytes to go on, 0 to stop.
    func receiveHead(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        // SAFETY: libcurl lends the line for the length of the call; it is copied.
        var line = unsafe Array(bytes)
        let count = line.count
        while let last = line.last, last == 0x0D || last == 0x0A { line.removeLast() }
        var failure: HTTPError?
        let ready = state.withLock { state -> CheckedContinuation<HTTPResponseHead, any Error>? in
            // The lines behind the body are trailers, which are not used.
            guard !state.isHeadWhole else {
                state.lastActivity = .now
                return nil
            }
            state.headBytes += count
            if state.headBytes > Self.headLimit { failure = .headTooLong(url) }
            if line.starts(with: "HTTP/".utf8) {
                // Field by field a head could come for ever: its time is that from one status to the next.
                state.lastActivity = .now
                state.head = HTTPResponseHead(status: Self.status(in: line))
                return nil
            }
            guard line.isEmpty else {
                // A line that is no field is passed over, as browsers do.
                _ = state.head.headers.add(line: line)
                return nil
            }
            // 100 Continue and its like are followed by the real head.
            guard state.head.status >= 200 else { return nil }
            state.isHeadWhole = true
            state.lastActivity = .now
            defer { state.headWaiter = nil }
            return state.headWaiter
        }
        if let failure {
            finish(.failure(failure))
            return 0
        }
        if let ready { ready.resume(returning: state.withLock { $0.head }) }
        return isFinished ? 0 : count
    }

    /// `HTTP/1.1 200 OK`
    private static func status(in line: [UInt8]) -> Int {
        let words = line.split(separator: 0x20, maxSplits: 2)
        return words.count > 1 ? Int(String(decoding: words[1], as: UTF8.self), radix: 10) ?? 0 : 0
    }

    /// Takes bytes of the body.
    ///
    /// - Returns: Their number, or what pauses or stops receiving.
    func receiveBody(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        // SAFETY: libcurl lends the bytes for the length of the call; they are copied.
        let piece = unsafe Array(bytes)
        enum Answer { case taken, paused, stopped }
        var waiter: CheckedContinuation<[UInt8]?, any Error>?
        let answer = state.withLock { state -> Answer in
            guard state.outcome == nil else { return .stopped }
            state.lastActivity = .now
            if state.receivedBytes >= Self.window {
                state.isReceivingPaused = true
                return .paused
            }
            if let waiting = state.pieceWaiter {
                state.pieceWaiter = nil
                waiter = waiting
            } else {
                state.append(piece, joiningBelow: Self.joinSize)
            }
            return .taken
        }
        waiter?.resume(returning: piece)
        switch answer {
        case .taken: return piece.count
        case .paused: return divan_curl_write_pause()
        case .stopped: return piece.isEmpty ? 1 : 0
        }
    }

    /// Fills bytes of the request's body.
    ///
    /// - Returns: Their number, 0 at the end, or what pauses or stops sending.
    func fillUpload(_ room: UnsafeMutableBufferPointer<UInt8>) -> Int {
        enum Answer { case filled(Int), paused, stopped }
        var waiter: CheckedContinuation<Void, any Error>?
        var failure: HTTPError?
        let answer = state.withLock { state -> Answer in
            guard state.outcome == nil else { return .stopped }
            state.lastActivity = .now
            var filled = 0
            while filled < room.count, let piece = state.upload.first {
                let count = min(room.count - filled, piece.count - state.uploadOffset)
                let range = state.uploadOffset..<(state.uploadOffset + count)
                // SAFETY: `count` fits behind what is filled, and libcurl lends the room for the call.
                unsafe piece[range].withUnsafeBufferPointer { bytes in
                    _ = unsafe UnsafeMutableBufferPointer(rebasing: room[filled...])
                        .update(fromContentsOf: bytes)
                }
                filled += count
                state.uploadOffset += count
                if state.uploadOffset == piece.count {
                    state.upload.removeFirst()
                    state.uploadOffset = 0
                }
            }
            state.uploadBytes -= filled
            state.sentBytes += filled
            if state.uploadBytes < Self.window / 2 {
                waiter = state.roomWaiter
                state.roomWaiter = nil
            }
            let isTooLong = uploadLength.map { state.sentBytes > $0 } ?? false
            let isTooShort =
                filled == 0 && state.isUploadWhole
                && (uploadLength.map { state.sentBytes < $0 } ?? false)
            if isTooLong || isTooShort {
                failure = .wrongLength(declared: uploadLength ?? 0)
                return .stopped
            }
            if filled == 0 && !state.isUploadWhole {
                state.isSendingPaused = true
                return .paused
            }
            return .filled(filled)
        }
        waiter?.resume()
        if let failure { finish(.failure(failure)) }
        switch answer {
        case .filled(let count): return count
        case .paused: return divan_curl_read_pause()
        case .stopped: return divan_curl_read_abort()
        }
    }

    /// Begins the request's body anew, as libcurl asks when a connection that it kept turned out to be closed.
    func rewindUpload() -> Bool {
        guard let wholeUpload else { return state.withLock { $0.sentBytes == 0 } }
        state.withLock { state in
            state.upload = wholeUpload.isEmpty ? [] : [wholeUpload]
            state.uploadOffset = 0
            state.uploadBytes = wholeUpload.count
            state.sentBytes = 0
        }
        return true
    }
}
