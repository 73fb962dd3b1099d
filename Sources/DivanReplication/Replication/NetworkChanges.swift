// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Synchronization

#if canImport(Glibc)
internal import Glibc
#endif

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
/// It is one socket and no thread of its own. Where there is none to be had, nobody is told, and replications
/// try again by their delays alone.
///
/// State: the source of events and whether news are pending, each guarded by its mutex.
enum NetworkWatch {
    #if os(Linux)
    /// The kernel's news come in bursts; so long after the first of them everybody is told.
    private static let pause = DispatchTimeInterval.milliseconds(500)
    private static let queue = DispatchQueue(label: "divan.replication.network")
    private static let isPending = Mutex(false)

    private static let source = Mutex<(any DispatchSourceRead)?>(nil)

    /// Starts to follow, once for the process; doing so again is fine.
    static func start() {
        source.withLock { source in
            guard source == nil, let descriptor = open() else { return }
            let made = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
            made.setEventHandler { take(descriptor) }
            made.activate()
            source = made
        }
    }

    /// Opens a socket of the kernel's routing news: links, and addresses and routes of both families.
    private static func open() -> Int32? {
        let (family, protocolNumber): (Int32, Int32) = (16, 0)
        let kind = Int32(
            clamping: SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(family, kind, protocolNumber)
        guard descriptor >= 0 else { return nil }
        // `sockaddr_nl`, which Glibc's module lacks: family, padding, process, groups.
        let groups: UInt32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400
        var address: (UInt16, UInt16, UInt32, UInt32) = (UInt16(clamping: family), 0, 0, groups)
        // SAFETY: the tuple has the layout of the structure, 12 bytes, and lives through the call.
        let code = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, 12)
            }
        }
        guard code == 0 else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    private static func take(_ descriptor: Int32) {
        var room = [UInt8](repeating: 0, count: 16 * 1_024)
        // SAFETY: the room has as many bytes as are asked for.
        while unsafe recv(descriptor, &room, room.count, 0) > 0 {}
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
    #else
    /// Does nothing: nobody tells here.
    static func start() {}
    #endif
}
