// SPDX-License-Identifier: Apache-2.0

import Foundation

#if canImport(Glibc)
import Glibc
#endif

/// A client that sends one request on a connection of its own, whatever the server thinks of it meanwhile.
struct WireClient: Sendable {
    let port: UInt16

    /// Sends a request.
    ///
    /// - Returns: The status, or nil when the server closed the connection without one.
    func send(_ method: String, _ target: String, _ headers: [String] = [], _ body: [UInt8] = [])
        -> Int?
    {
        guard let descriptor = open() else { return nil }
        defer { close(descriptor) }
        let head =
            ["\(method) \(target) HTTP/1.1", "Host: localhost", "Content-Length: \(body.count)"]
            + headers
        write(Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8), to: descriptor)
        write(body, to: descriptor)
        return status(descriptor)
    }

    /// A request that breaks off.
    struct Abandoned: Sendable {
        var (method, target, headers, body): (String, String, [String], [UInt8])
        var (declared, sends, reads): (Int, Int, Int)

        /// A request of which so many bytes are sent, with a body said to be so long, and so many bytes of whose answer are
        /// read.
        init(
            _ method: String, _ target: String, _ headers: [String], _ body: [UInt8] = [],
            says declared: Int? = nil, sends: Int = .max, reads: Int = 0
        ) {
            (self.method, self.target, self.headers, self.body) = (method, target, headers, body)
            (self.declared, self.sends, self.reads) = (declared ?? body.count, sends, reads)
        }
    }

    /// Sends a part of a request, reads a part of the answer, and resets the connection.
    func abandon(_ request: Abandoned) {
        guard let descriptor = open() else { return }
        let head =
            [
                "\(request.method) \(request.target) HTTP/1.1", "Host: localhost",
                "Content-Length: \(request.declared)",
            ] + request.headers
        let bytes = Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8) + request.body
        write(Array(bytes.prefix(request.sends)), to: descriptor)
        if request.reads > 0 {
            var buffer = [UInt8](repeating: 0, count: request.reads)
            _ = recv(descriptor, &buffer, buffer.count, 0)
        }
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        close(descriptor)
    }

    /// Opens a connection; nil when none is accepted.
    func open() -> Int32? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            close(descriptor)
            return nil
        }
        // Generous: a test that waits in vain fails instead of hanging.
        var limit = timeval(tv_sec: 120, tv_usec: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        return descriptor
    }

    func write(_ bytes: [UInt8], to descriptor: Int32) {
        var done = 0
        while done < bytes.count {
            let count = bytes[done...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return }
            done += count
        }
    }

    /// Reads the first line, and everything behind it until the head ends or the connection does.
    private func status(_ descriptor: Int32) -> Int? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while !bytes.contains(0x0A) {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count <= 0 { break }
            bytes += buffer[..<count]
        }
        let line = String(decoding: bytes.prefix { $0 != 0x0D }, as: UTF8.self)
        return line.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    }
}
