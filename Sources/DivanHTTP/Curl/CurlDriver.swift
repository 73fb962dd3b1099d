// SPDX-License-Identifier: Apache-2.0

internal import CCurl
internal import DivanJSON

/// What the loop's thread knows: the transfers that are under way, and when to look at their clocks.
struct CurlDriver {
    /// How long to sleep when no clock runs.
    private static let longestPause = 3_600_000
    /// When to look again at a transfer whose clock stands still.
    private static let stoppedClockPause = Duration.seconds(5)

    private let multi: CurlMulti
    private var handles: [ObjectIdentifier: CurlHandle] = [:]
    /// No deadline passes before this; deadlines only move to later.
    private var nextCheck: ContinuousClock.Instant?

    init(multi: CurlMulti) { self.multi = multi }

    /// How long the thread may sleep, in milliseconds.
    var pause: Int {
        guard let nextCheck else { return Self.longestPause }
        let milliseconds = (nextCheck - .now).milliseconds
        return min(max(milliseconds.addingSaturated(1), 0), Self.longestPause)
    }

    mutating func execute(_ command: CurlLoop.Command) {
        switch command {
        case .start(let transfer, let settings):
            guard !transfer.isFinished else { return }
            guard let handle = CurlHandle(transfer) else {
                transfer.finish(.failure(HTTPError(.other, "There is no memory for a request.")))
                return
            }
            if let failure = settings.apply(to: handle) {
                transfer.finish(.failure(failure))
                return
            }
            guard handle.add(to: multi) else {
                transfer.finish(.failure(HTTPError(.other, "libcurl takes no more requests.")))
                return
            }
            handles[ObjectIdentifier(transfer)] = handle
            watch(transfer)
        case .resume(let transfer):
            handles[ObjectIdentifier(transfer)]?.applyPauses()
            watch(transfer)
        case .remove(let transfer):
            remove(ObjectIdentifier(transfer))
        }
    }

    /// Lets libcurl work, then tells what ended and what took too long.
    mutating func work() {
        multi.perform()
        while let (identity, result) = multi.nextDone() {
            guard let handle = handles[identity] else { continue }
            handle.transfer.finish(
                result == DIVAN_CURL_OK ? .success(()) : .failure(handle.failure(result)))
            remove(identity)
        }
        if let nextCheck, nextCheck <= .now { checkDeadlines() }
    }

    /// Ends everything that is under way.
    mutating func endAll() {
        for handle in handles.values {
            handle.transfer.finish(.failure(HTTPError.closed))
            handle.remove(from: multi)
        }
        handles = [:]
    }

    private mutating func remove(_ identity: ObjectIdentifier) {
        guard let handle = handles.removeValue(forKey: identity) else { return }
        handle.remove(from: multi)
        if handles.isEmpty { nextCheck = nil }
    }

    private mutating func watch(_ transfer: CurlTransfer) {
        let deadline = transfer.deadline?.instant ?? .now + Self.stoppedClockPause
        nextCheck = nextCheck.map { min($0, deadline) } ?? deadline
    }

    private mutating func checkDeadlines() {
        let now = ContinuousClock.now
        nextCheck = nil
        for (identity, handle) in handles {
            guard let deadline = handle.transfer.deadline, deadline.instant <= now else {
                // Whose turn it is may change without a command, so a stopped clock is looked at too.
                let next = handle.transfer.deadline?.instant ?? now + Self.stoppedClockPause
                nextCheck = nextCheck.map { min($0, next) } ?? next
                continue
            }
            let url = handle.transfer.url
            handle.transfer.finish(
                .failure(HTTPError.silent(url, deadline.time, awaiting: deadline.awaited)))
            remove(identity)
        }
    }
}
