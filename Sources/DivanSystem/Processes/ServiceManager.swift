// SPDX-License-Identifier: Apache-2.0

internal import CLibrary

/// The manager that has started this process as a service: what it is told, and the sockets that it hands over.
///
/// It speaks the protocol of systemd, which others speak, too: a datagram of lines such as `READY=1` to the socket that
/// `NOTIFY_SOCKET` names, and sockets that listen already from descriptor 3 on, whose number `LISTEN_FDS` tells the process
/// that `LISTEN_PID` names.
package struct ServiceManager: Sendable {
    /// The first descriptor that a manager hands over.
    private static let firstDescriptor: Int32 = 3

    private let address: [UInt8]
    /// The descriptors of the sockets that were handed over.
    package let sockets: [Int32]

    /// Finds out which manager there is.
    ///
    /// - Parameters:
    ///   - address: `NOTIFY_SOCKET`: a path, or a name that begins with `@`; nil when it is not set.
    ///   - count: `LISTEN_FDS`.
    ///   - process: `LISTEN_PID`.
    package init(address: String?, count: String?, process: String?) {
        self.address = Array((address ?? "").utf8)
        guard let process, Int32(process) == CurrentProcess.number, let count,
            let count = Int32(count), (1...1_000).contains(count)
        else {
            sockets = []
            return
        }
        sockets = Array(Self.firstDescriptor..<Self.firstDescriptor + count)
    }

    /// Whether a manager listens to what the service tells.
    package var listens: Bool { !address.isEmpty }

    /// What the service tells.
    package enum State: Sendable, Equatable {
        /// It serves.
        case ready(String)
        /// It reads its configuration again, and says that it is ready after that.
        case reloading
        /// It ends.
        case stopping

        fileprivate var text: String {
            switch self {
            case .ready(let status): "READY=1\nSTATUS=\(status)"
            case .reloading: "RELOADING=1\nMONOTONIC_USEC=\(ServiceManager.monotonicMicroseconds)"
            case .stopping: "STOPPING=1"
            }
        }
    }

    /// Tells the manager how the service is; without a manager it does nothing.
    ///
    /// - Parameter state: How it is.
    /// - Throws: `SystemError` when the manager cannot be told.
    package func tell(_ state: State) throws(SystemError) {
        guard listens else { return }
        var place = sockaddr_un()
        place.sun_family = sa_family_t(AF_UNIX)
        // A path ends in a zero, and a name without a file begins with one.
        let room = MemoryLayout.size(ofValue: place.sun_path) - 1
        let isName = address.first == UInt8(ascii: "@")
        guard address.count <= room, isName || address.first == UInt8(ascii: "/") else {
            throw SystemError("NOTIFY_SOCKET", "of \(address.count) bytes", number: EINVAL)
        }
        unsafe withUnsafeMutableBytes(of: &place.sun_path) { path in
            // SAFETY: the address is shorter than the path's room.
            unsafe path.copyBytes(from: address)
            if isName { unsafe path[0] = 0 }
        }
        let end = socket(
            AF_UNIX, Int32(clamping: SOCK_DGRAM.rawValue) | Int32(clamping: SOCK_CLOEXEC.rawValue),
            0)
        guard end >= 0 else { throw SystemError("socket", "the service manager") }
        defer { Descriptors.close(end) }
        let head = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
        let length = socklen_t(head + address.count)
        let text = Array(state.text.utf8)
        // SAFETY: the address is a local of at least so many bytes, and the text is lent for the call.
        let sent = unsafe withUnsafePointer(to: place) { place in
            unsafe place.withMemoryRebound(to: sockaddr.self, capacity: 1) { place in
                unsafe sendto(end, text, text.count, Int32(clamping: MSG_NOSIGNAL), place, length)
            }
        }
        guard sent == text.count else { throw SystemError("sendto", "the service manager") }
    }

    private static var monotonicMicroseconds: Int {
        var time = timespec()
        // SAFETY: the time is a local that outlives the call.
        _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int(time.tv_sec) * 1_000_000 + Int(time.tv_nsec) / 1_000
    }
}
