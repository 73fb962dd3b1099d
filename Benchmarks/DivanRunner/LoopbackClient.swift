// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A client on loopback that costs next to nothing: it writes requests and passes over answers.
final class LoopbackClient {
    struct Failure: Error {}

    private let descriptor: Int32
    private var held: [UInt8] = []
    private var room: [UInt8] = []
    private let roomSize: Int
    private let flags: Int32

    /// - Parameters:
    ///   - port: Where the listener is.
    ///   - room: How much is read at a time; little where thousands of clients wait.
    ///   - staysAwake: Whether it asks again and again whether an answer has come. Who sleeps until then has
    ///     the kernel wake it in the server's time, as only a client on the same machine can.
    /// - Throws: `Failure` when no server listens there.
    init(port: UInt16, room: Int = 256 * 1_024, staysAwake: Bool = false) throws {
        roomSize = room
        flags = staysAwake ? Int32(MSG_DONTWAIT) : 0
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var yes: Int32 = 1
        setsockopt(
            descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else { throw Failure() }
    }

    deinit { close(descriptor) }

    /// Gets something; the length of the answer's body.
    func get(_ target: String) throws -> Int {
        try ask(target)
        return try readAnswer()
    }

    /// Asks for something; the answer is still to be read.
    func ask(_ target: String) throws {
        try write("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n")
    }

    /// Posts JSON; the length of the answer's body.
    func post(_ target: String, _ body: [UInt8]) throws -> Int {
        try write(
            "POST \(target) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                + "Content-Length: \(body.count)\r\n\r\n")
        try write(body)
        return try readAnswer()
    }

    func write(_ text: String) throws { try write(Array(text.utf8)) }

    private func write(_ bytes: [UInt8]) throws {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes {
                send(descriptor, $0.baseAddress?.advanced(by: done), bytes.count - done, 0)
            }
            guard count > 0 else { throw Failure() }
            done += count
        }
    }

    /// Reads a head and forgets it, and what it was read into: who waits takes no memory here.
    func skipHead() throws {
        _ = try readHead()
        (held, room) = ([], [])
    }

    private func readHead() throws -> String {
        while true {
            if let end = held.firstRange(of: Array("\r\n\r\n".utf8)) {
                let head = String(decoding: held[..<end.lowerBound], as: UTF8.self)
                held.removeFirst(end.upperBound)
                return head.lowercased()
            }
            try fill()
        }
    }

    /// Reads an answer; the length of its body.
    func readAnswer() throws -> Int {
        let head = try readHead()
        guard head.hasPrefix("http/1.1 2") else { throw Failure() }
        if let range = head.range(of: "content-length: ") {
            let length = Int(head[range.upperBound...].prefix { $0.isNumber }) ?? 0
            while held.count < length { try fill() }
            held.removeFirst(length)
            return length
        }
        // Chunks: nothing in them looks like the last one.
        var count = 0
        let end = Array("\r\n0\r\n\r\n".utf8)
        while true {
            if held.suffix(end.count).elementsEqual(end) {
                count += held.count
                held = []
                return count
            }
            if held.count > end.count {
                count += held.count - end.count
                held = Array(held.suffix(end.count))
            }
            try fill()
        }
    }

    private func fill() throws {
        if room.isEmpty { room = [UInt8](repeating: 0, count: roomSize) }
        var count = recv(descriptor, &room, room.count, flags)
        while count < 0, flags != 0, errno == EAGAIN {
            count = recv(descriptor, &room, room.count, flags)
        }
        guard count > 0 else { throw Failure() }
        held += room[..<count]
    }
}
