// SPDX-License-Identifier: Apache-2.0

internal import CLibrary
package import Dispatch

/// Follows the machine's addresses and routes, as the kernel tells of them.
///
/// It is one socket and no thread of its own.
package enum NetworkWatcher {
    /// Starts to follow.
    ///
    /// - Parameters:
    ///   - queue: Where the handler runs.
    ///   - handler: Called for each burst of news.
    /// - Returns: What keeps the handler being called; nil where there is no such socket, as on systems other
    ///   than Linux.
    package static func start(
        on queue: DispatchQueue, _ handler: @escaping @Sendable () -> Void
    ) -> (any DispatchSourceRead)? {
        #if os(Linux)
        guard let descriptor = open() else { return nil }
        let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setEventHandler {
            drain(descriptor)
            handler()
        }
        source.activate()
        return source
        #else
        return nil
        #endif
    }

    #if os(Linux)
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

    private static func drain(_ descriptor: Int32) {
        var room = [UInt8](repeating: 0, count: 16 * 1_024)
        // SAFETY: the room has as many bytes as are asked for.
        while unsafe recv(descriptor, &room, room.count, 0) > 0 {}
    }
    #endif
}
