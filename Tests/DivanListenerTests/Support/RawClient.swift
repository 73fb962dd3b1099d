// SPDX-License-Identifier: Apache-2.0

import Foundation

#if canImport(Glibc)
import Glibc
#endif

/// A client that writes and reads bytes on a socket, so that nothing stands between a test and the
/// wire.
final class RawClient {
    private var descriptor: Int32
    private var buffer: [UInt8] = []

    /// Connects, from the loopback's address 127.0.0.`host`.
    ///
    /// - Parameter room: How many bytes the system may keep that were not read; nil for what is usual.
    init(port: UInt16, from host: UInt8 = 1, room: Int32? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        if var room {
            setsockopt(
                descriptor, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<Int32>.size))
        }
        func call(
            _ host: UInt8, _ port: UInt16,
            _ function: (Int32, UnsafePointer<sockaddr>?, socklen_t) -> Int32
        ) -> Int32 {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = (UInt32(0x7F00_0000) + UInt32(host)).bigEndian
            return withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    function(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
        var result: Int32 = host == 1 ? 0 : call(host, 0, bind)
        if result == 0 { result = call(1, port, connect) }
        struct Refused: Error {}
        guard result == 0 else {
            close(descriptor)
            throw Refused()
        }
        // Generous: a test that waits in vain fails instead of hanging, and one that waits for a replication waits
        // while hundreds of tests take turns.
        var limit = timeval(tv_sec: 240, tv_usec: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    func write(_ text: String) { write(Array(text.utf8)) }

    func write(_ bytes: [UInt8]) {
        var done = 0
        while done < bytes.count {
            let count = bytes[done...].withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return }
            done += count
        }
    }

    func request(_ method: String, _ target: String, _ headers: [String] = [], _ body: [UInt8] = [])
    {
        var head = ["\(method) \(target) HTTP/1.1", "Host: localhost"] + headers
        if method == "POST",
            !headers.contains(where: { $0.lowercased().hasPrefix("content-type:") })
        {
            head.append("Content-Type: application/json")
        }
        if !body.isEmpty { head.append("Content-Length: \(body.count)") }
        write(head.joined(separator: "\r\n") + "\r\n\r\n")
        write(body)
    }

    /// Reads until the buffer ends in, or contains, a text; nil when the other side closed before.
    func read(until text: String) -> String? {
        let wanted = Array(text.utf8)
        while true {
            if let found = find(wanted) {
                let taken = Array(buffer[..<(found + wanted.count)])
                buffer.removeFirst(found + wanted.count)
                return String(decoding: taken, as: UTF8.self)
            }
            guard fill() else { return nil }
        }
    }

    /// Reads one answer: its status, its header, and its body, chunked or of a known length.
    func answer() -> (status: Int, header: String, body: [UInt8])? {
        guard let header = read(until: "\r\n\r\n"),
            let status = header.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
        else { return nil }
        let lower = header.lowercased()
        if lower.contains("transfer-encoding: chunked") {
            return chunks().map { (status, header, $0) }
        }
        guard let range = lower.range(of: "content-length: ") else { return (status, header, []) }
        let length = Int(lower[range.upperBound...].prefix { $0.isNumber }) ?? 0
        while buffer.count < length { guard fill() else { return nil } }
        let body = Array(buffer[..<length])
        buffer.removeFirst(length)
        return (status, header, body)
    }

    private func chunks() -> [UInt8]? {
        var body: [UInt8] = []
        while let line = read(until: "\r\n") {
            guard let size = Int(line.prefix { $0.isHexDigit }, radix: 16) else { return nil }
            while buffer.count < size + 2 { guard fill() else { return nil } }
            body += buffer[..<size]
            buffer.removeFirst(size + 2)
            if size == 0 { return body }
        }
        return nil
    }

    /// Tells the other side that nothing more comes; answers can still be read.
    func finish() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Breaks the connection off: the other side is told that nothing it sends arrives.
    func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        close(descriptor)
        descriptor = -1
    }

    /// Whether the other side neither sent nor closed when it was last waited for.
    private(set) var isSilent = false

    /// Whether the other side closes, having sent nothing more.
    func isClosed() -> Bool { !fill() }

    private func find(_ wanted: [UInt8]) -> Int? {
        guard buffer.count >= wanted.count else { return nil }
        return (0...(buffer.count - wanted.count)).first {
            buffer[$0] == wanted[0] && buffer[$0..<($0 + wanted.count)].elementsEqual(wanted)
        }
    }

    private func fill() -> Bool {
        var piece = [UInt8](repeating: 0, count: 256 * 1_024)
        let count = recv(descriptor, &piece, piece.count, 0)
        isSilent = count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)
        guard count > 0 else { return false }
        buffer += piece[..<count]
        return true
    }
}
