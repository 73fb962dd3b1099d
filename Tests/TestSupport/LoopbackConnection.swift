// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Synchronization

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

/// One connection of a `LoopbackServer`.
///
/// Reading is done by the connection's own thread; writing by the handler. ``interrupt()`` may come from anywhere.
public final class LoopbackConnection: Sendable {
    /// What was read and not yet taken.
    private let buffer = Mutex<[UInt8]>([])
    private let socket: LoopbackSocket
    private var descriptor: Int32 { socket.descriptor }

    init(_ descriptor: Int32) {
        socket = LoopbackSocket(descriptor)
        var yes: Int32 = 1
        setsockopt(
            descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    }

    // MARK: - Writing

    /// Writes bytes as they are; `false` when the client is gone.
    @discardableResult
    public func write(_ bytes: some Sequence<UInt8>) -> Bool {
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { bytes in
                send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
            }
            if written < 0 && errno == EINTR { continue }
            guard written > 0 else { return false }
            rest = rest.dropFirst(written)
        }
        return true
    }

    /// Writes a text as it is; line feeds become CR LF.
    @discardableResult
    public func write(lines: String) -> Bool {
        write(lines.utf8.flatMap { $0 == 0x0A ? [0x0D, 0x0A] as [UInt8] : [$0] })
    }

    /// Writes a whole answer with its length.
    @discardableResult
    public func respond(
        status: Int, headers: [(String, String)] = [], body: [UInt8] = []
    ) -> Bool {
        var head = "HTTP/1.1 \(status) Status\n"
        for (name, value) in headers { head += "\(name): \(value)\n" }
        return write(lines: head + "Content-Length: \(body.count)\n\n") && write(body)
    }

    /// Writes a chunk of a body that was announced as chunked; an empty one ends it.
    @discardableResult
    public func write(chunk: [UInt8]) -> Bool {
        write(lines: String(chunk.count, radix: 16) + "\n") && write(chunk) && write(lines: "\n")
    }

    /// Hands everything on to a port of this machine, and back, until one end closes, or until a fault ends it.
    public func tunnel(toPort port: Int, fault: TunnelFault? = nil) {
        let other = openSocket()
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(other, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else {
            close(other)
            return
        }
        let far = LoopbackConnection(other)
        let back = Thread { [self] in
            var passed = 0
            while let bytes = far.receive(), !bytes.isEmpty {
                let (sent, isOver) = fault?.change(bytes, behind: passed) ?? (bytes, false)
                passed += bytes.count
                guard write(sent) else { break }
                guard isOver else { continue }
                // Nothing more comes, and the connection stays.
                if case .stall = fault { waitForClose() }
                break
            }
            far.interrupt()
            interrupt()
        }
        back.start()
        while let bytes = receive(), !bytes.isEmpty, far.write(bytes) {}
        far.interrupt()
    }

    // MARK: - Ending

    /// Shuts both directions down, so that the thread that reads goes on, and the client sees the end.
    public func interrupt() { socket.interrupt() }

    /// Ends with a reset instead of an orderly close, as when the machine dies.
    public func reset() {
        var hard = linger(l_onoff: 1, l_linger: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_LINGER, &hard, socklen_t(MemoryLayout<linger>.size))
        end()
    }

    /// Waits until the client has closed, forgetting what it sends.
    public func waitForClose() {
        while let bytes = receive(), !bytes.isEmpty {}
    }

    /// Closes the connection.
    func end() { socket.end() }

    // MARK: - Reading

    func readRequest(withBody: Bool) -> LoopbackRequest? {
        guard let startLine = readLine() else { return nil }
        let words = startLine.split(separator: " ")
        guard words.count == 3 else { return nil }
        var headers: [String: String] = [:]
        while let line = readLine(), !line.isEmpty {
            guard let colon = line.firstIndex(of: ":") else { return nil }
            headers[line[..<colon].lowercased()] = String(
                line[line.index(after: colon)...].drop { $0 == " " })
        }
        var request = LoopbackRequest(
            method: String(words[0]), target: String(words[1]), headers: headers, body: [])
        guard withBody else { return request }
        if headers["transfer-encoding"] == "chunked" {
            while let size = readLine().flatMap({ Int($0, radix: 16) }) {
                guard let chunk = readBytes(size), readLine() != nil else { return nil }
                if size == 0 { return request }
                request.body += chunk
            }
            return nil
        }
        guard let body = readBytes(headers["content-length"].flatMap { Int($0) } ?? 0) else {
            return nil
        }
        request.body = body
        return request
    }

    private func readLine() -> String? {
        var line: [UInt8] = []
        while true {
            if let feed = held.firstIndex(of: 0x0A) {
                line += take(feed + 1)
                while let last = line.last, last == 0x0A || last == 0x0D { line.removeLast() }
                return String(decoding: line, as: UTF8.self)
            }
            line += take(held.count)
            guard fill() else { return nil }
        }
    }

    /// Reads so many bytes behind the request; nil at the end.
    public func readBytes(_ count: Int) -> [UInt8]? {
        while held.count < count { guard fill() else { return nil } }
        return take(count)
    }

    private var held: [UInt8] { buffer.withLock { $0 } }

    private func take(_ count: Int) -> [UInt8] {
        buffer.withLock { buffer in
            defer { buffer.removeFirst(count) }
            return Array(buffer.prefix(count))
        }
    }

    private func fill() -> Bool {
        guard let bytes = receive(), !bytes.isEmpty else { return false }
        buffer.withLock { $0 += bytes }
        return true
    }

    private func receive() -> [UInt8]? {
        while true {
            var failure: Int32 = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: 64 * 1_024) { buffer, count in
                let got = recv(descriptor, buffer.baseAddress, buffer.count, 0)
                failure = got < 0 ? errno : 0
                count = max(got, 0)
            }
            if failure == EINTR { continue }
            return failure == 0 ? bytes : nil
        }
    }
}

/// What goes wrong with the bytes that come back through a tunnel.
public enum TunnelFault: Sendable {
    /// The connection ends after so many bytes.
    case cut(Int)
    /// No more than so many bytes come, and the connection stays.
    case stall(Int)
    /// One byte becomes another.
    case damage(Int)

    /// What becomes of bytes that come behind so many others, and whether they are the last.
    func change(_ bytes: [UInt8], behind passed: Int) -> ([UInt8], isOver: Bool) {
        switch self {
        case .cut(let count), .stall(let count):
            return (Array(bytes.prefix(max(0, count - passed))), passed + bytes.count >= count)
        case .damage(let place):
            var bytes = bytes
            if bytes.indices.contains(place - passed) { bytes[place - passed] ^= 0x5A }
            return (bytes, false)
        }
    }
}

/// The system's function, whose name the property hides.
private func openSocket() -> Int32 { socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
