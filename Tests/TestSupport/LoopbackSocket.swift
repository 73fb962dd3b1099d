// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

/// A socket whose number stays its own until the last reference to it goes.
///
/// Several threads use a socket of a test server: one reads, one writes, one stops the server. The system gives
/// the number of a closed socket to the next one that is opened, by another test as likely as not. A thread that
/// still used the number would read that test's requests and end its connections. So ``end()`` closes the socket and
/// leaves something dead under its number, and the number is given back with the last reference.
///
/// State: whether it has ended, guarded by the mutex.
final class LoopbackSocket: Sendable {
    /// The number, for the system's calls.
    let descriptor: Int32
    private let hasEnded = Mutex(false)

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Shuts both directions down: threads that wait for the socket go on, and the other end sees the end.
    func interrupt() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Closes the socket and keeps its number.
    func end() {
        hasEnded.withLock { hasEnded in
            guard !hasEnded else { return }
            hasEnded = true
            let dead = open("/dev/null", O_RDWR)
            guard dead >= 0 else { return interrupt() }
            dup2(dead, descriptor)
            close(dead)
        }
    }
}
