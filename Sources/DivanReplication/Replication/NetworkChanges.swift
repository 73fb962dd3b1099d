// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import DivanSystem
internal import Synchronization

extension Replication {
    /// Says that the network has changed: every replication of this process that waits to try again does so
    /// now, as if nothing had failed before.
    ///
    /// On Linux Divan notices by itself when addresses and routes of the machine come and go, once a
    /// replication to a URL has been started. Call this for what only the app knows, such as the end of a sleep or
    /// a login to a network.
    public static func networkDidChange() {
        for replication in RunningTable.shared.all { replication.retryNow() }
    }
}

/// Follows the machine's addresses and routes, as the kernel tells of them.
///
/// Where the system does not tell of them, replications try again by their delays alone.
///
/// State: the source of events and whether news are pending, each guarded by its mutex.
enum NetworkWatch {
    /// The kernel's news come in bursts. The replications are told this long after the first of a burst.
    private static let pause = DispatchTimeInterval.milliseconds(500)
    private static let queue = DispatchQueue(label: "divan.replication.network")
    private static let isPending = Mutex(false)

    private static let source = Mutex<(any DispatchSourceRead)?>(nil)

    /// Starts to follow, once for the process; doing so again is fine.
    static func start() {
        source.withLock { source in
            if source == nil { source = NetworkWatcher.start(on: queue) { note() } }
        }
    }

    private static func note() {
        let isFirst = isPending.withLock { isPending in
            defer { isPending = true }
            return !isPending
        }
        guard isFirst else { return }
        queue.asyncAfter(deadline: .now() + pause) {
            isPending.withLock { $0 = false }
            Replication.networkDidChange()
        }
    }
}
