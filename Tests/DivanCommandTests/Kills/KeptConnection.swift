// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import Foundation

#if canImport(Glibc)
import Glibc
#endif

/// A request of a client whose server may die at any moment.
struct KillRequest: Sendable {
    var method: String
    var target: String
    var headers: [String] = []
    var body: [UInt8] = []
    /// Sends the body in chunks, of a length that is not told before.
    var isChunked = false

    init(_ method: String, _ target: String, _ headers: [String] = [], body: [UInt8] = []) {
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
    }

    /// A request with a body of JSON.
    init(_ method: String, _ target: String, json: JSONValue) {
        self.init(
            method, target, ["Content-Type: application/json"], body: Array(json.description.utf8))
    }
}

/// A connection that a client keeps for all its requests, one after the other.
///
/// An answer counts only when it has come in whole: then the client knows what its request has done, and not before.
final class KeptConnection {
    struct Answer {
        var status: Int
        var body: [UInt8]

        var json: JSONValue { (try? JSONParser.parse(body)) ?? .null }
        var isSuccess: Bool { (200..<300).contains(status) }
    }

    private let descriptor: Int32
    private var buffer: [UInt8] = []

    init(port: UInt16) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        // Generous: a test that waits in vain fails instead of hanging.
        var limit = timeval(tv_sec: 120, tv_usec: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        // Where the server is gone already, the first request gets no answer.
        _ = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    deinit { close(descriptor) }

    /// Sends a request and returns its answer; nil when the connection ended before all of it had come.
    func send(_ request: KillRequest) -> Answer? {
        let length =
            request.isChunked
            ? "Transfer-Encoding: chunked" : "Content-Length: \(request.body.count)"
        let head =
            ["\(request.method) \(request.target) HTTP/1.1", "Host: localhost", length]
            + request.headers
        guard write(Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8)) else { return nil }
        guard request.isChunked else {
            return write(request.body) ? answer() : nil
        }
        for start in stride(from: 0, to: request.body.count, by: 20_000) {
            let piece = request.body[start..<min(start + 20_000, request.body.count)]
            let line = Array("\(String(piece.count, radix: 16))\r\n".utf8)
            guard write(line + piece + [0x0D, 0x0A]) else { return nil }
        }
        return write(Array("0\r\n\r\n".utf8)) ? answer() : nil
    }

    private func write(_ bytes: [UInt8]) -> Bool {
        var done = 0
        while done < bytes.count {
            let count = bytes[done...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EINTR { continue }
            if count <= 0 { return false }
            done += count
        }
        return true
    }

    private func answer() -> Answer? {
        guard let head = line(upTo: "\r\n\r\n"),
            let status = head.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
        else { return nil }
        let fields = head.lowercased()
        if fields.contains("transfer-encoding: chunked") {
            return chunks().map { Answer(status: status, body: $0) }
        }
        guard let range = fields.range(of: "content-length: "),
            let length = Int(fields[range.upperBound...].prefix { $0.isNumber })
        else { return nil }
        return take(length).map { Answer(status: status, body: $0) }
    }

    private func chunks() -> [UInt8]? {
        var body: [UInt8] = []
        while let size = line(upTo: "\r\n") {
            guard let count = Int(size, radix: 16), let piece = take(count + 2) else { return nil }
            body += piece.dropLast(2)
            if count == 0 { return body }
        }
        return nil
    }

    private func line(upTo end: String) -> String? {
        let end = Array(end.utf8)
        while true {
            if let range = buffer.firstRange(of: end) {
                defer { buffer.removeSubrange(..<range.upperBound) }
                return String(decoding: buffer[..<range.lowerBound], as: UTF8.self)
            }
            guard fill() else { return nil }
        }
    }

    private func take(_ count: Int) -> [UInt8]? {
        while buffer.count < count { guard fill() else { return nil } }
        defer { buffer.removeSubrange(..<count) }
        return Array(buffer[..<count])
    }

    private func fill() -> Bool {
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = recv(descriptor, &piece, piece.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            buffer += piece[..<count]
            return true
        }
    }
}
