// SPDX-License-Identifier: Apache-2.0

internal import CLibrary

/// Looks again and again whether a condition holds, and sleeps in between.
///
/// It is for what cannot wake a thread: a lock of another process, a file. Threads of this process wait for
/// each other by a semaphore.
///
/// ```swift
/// let isLocked = try poll(every: .milliseconds(5), for: timeout) { try file.tryLock(exclusive: true) }
/// ```
///
/// - Parameters:
///   - pause: How long it sleeps after the first look.
///   - longest: How long it sleeps at most, when each sleep is to be twice as long as the one before.
///   - limit: How long it goes on; nil for as long as it takes. It looks at least once.
///   - isDone: The condition.
/// - Returns: Whether the condition held within the limit.
/// - Throws: what `isDone` throws.
package func poll<Failure: Error>(
    every pause: Duration, growingTo longest: Duration? = nil, for limit: Duration? = nil,
    until isDone: () throws(Failure) -> Bool
) throws(Failure) -> Bool {
    let deadline = limit.map { ContinuousClock.now + $0.bounded }
    var pause = pause
    while try !isDone() {
        if let deadline, ContinuousClock.now >= deadline { return false }
        sleep(for: pause)
        if let longest { pause = min(pause * 2, longest) }
    }
    return true
}

/// Stops the calling thread for a time, or until it gets a signal.
private func sleep(for duration: Duration) {
    let (seconds, attoseconds) = duration.components
    var time = timespec()
    time.tv_sec = time_t(seconds)
    time.tv_nsec = Int(attoseconds / 1_000_000_000)
    // SAFETY: `time` is a local that outlives the call; the rest of an interrupted sleep is not asked for.
    _ = unsafe nanosleep(&time, nil)
}
