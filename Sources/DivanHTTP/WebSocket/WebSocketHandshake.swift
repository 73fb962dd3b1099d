// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL
internal import DivanJSON

/// What stands before the frames of a WebSocket: a request for it, and the server's answer.
package struct WebSocketHandshake: Sendable {
    /// The longest head of an answer.
    private static let headLimit = 64 * 1_024
    /// What RFC 6455 has both ends append to the key.
    private static let suffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

    /// What the server said.
    enum Answer: Sendable {
        /// It speaks frames from the byte behind its head on.
        case open(rest: ArraySlice<UInt8>)
        /// It does not.
        case refused(HTTPResponseHead)
    }

    private let key: String
    /// The request as it goes over the wire.
    let bytes: [UInt8]

    init(_ request: HTTPRequest) {
        var random = SystemRandomNumberGenerator()
        key = Base64.encode((0..<16).map { _ in UInt8.random(in: 0...255, using: &random) })
        let url = request.url
        let isUsualPort = url.port == (url.isSecure ? 443 : 80)
        var text = "GET \(url.target) HTTP/1.1\r\n"
        text += "Host: \(isUsualPort ? url.host : "\(url.host):\(url.port)")\r\n"
        text += "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        text += "Sec-WebSocket-Key: \(key)\r\n"
        for field in request.headers where HTTPHeaders.isName(field.name) {
            text += "\(field.name): \(field.value)\r\n"
        }
        bytes = Array((text + "\r\n").utf8)
    }

    /// Reads the answer; `nil` when it is not whole yet.
    ///
    /// - Throws: `HTTPError` when it is no HTTP, or is to another question.
    func read(_ received: [UInt8], from url: HTTPURL) throws -> Answer? {
        guard let end = Self.end(of: received) else {
            guard received.count <= Self.headLimit else { throw HTTPError.headTooLong(url) }
            return nil
        }
        var lines = received[..<end].split(separator: 0x0A)[...]
        for index in lines.indices where lines[index].last == 0x0D { lines[index].removeLast() }
        let words = lines.popFirst().map { $0.split(separator: 0x20, maxSplits: 2) } ?? []
        guard words.count > 1, words[0].starts(with: "HTTP/1.".utf8),
            let status = Int(String(decoding: words[1], as: UTF8.self), radix: 10)
        else {
            throw HTTPError(
                .malformedAnswer, "The answer from \(url.origin) is no HTTP.", isTransient: true)
        }
        var head = HTTPResponseHead(status: status)
        for line in lines { _ = head.headers.add(line: line) }
        guard status == 101 else { return .refused(head) }
        guard head.headers["Upgrade"]?.lowercased() == "websocket",
            head.headers["Sec-WebSocket-Accept"] == Self.accept(key)
        else {
            throw HTTPError(
                .malformedAnswer, "\(url.origin) opened something that is no WebSocket.",
                isTransient: true)
        }
        return .open(rest: received[end...])
    }

    /// What a server must answer to a key.
    package static func accept(_ key: String) -> String {
        let text = Array((key + suffix).utf8)
        guard let hasher = unsafe divan_hasher_create(Int32(clamping: DIVAN_SHA1.rawValue)) else {
            return ""
        }
        defer { unsafe divan_hasher_free(hasher) }
        var digest = [UInt8](repeating: 0, count: 32)
        // SAFETY: the text outlives the call, and the digest has room for more than SHA-1's 20 bytes.
        let count = unsafe text.withUnsafeBufferPointer { text in
            unsafe digest.withUnsafeMutableBufferPointer { digest in
                guard unsafe divan_hasher_update(hasher, text.baseAddress, text.count) == 1 else {
                    return 0
                }
                return unsafe divan_hasher_finish(hasher, digest.baseAddress)
            }
        }
        return Base64.encode(Array(digest.prefix(count)))
    }

    /// Where the head ends, behind its empty line.
    private static func end(of bytes: [UInt8]) -> Int? {
        var lineIsEmpty = false
        for (index, byte) in bytes.enumerated() {
            switch byte {
            case 0x0A where lineIsEmpty: return index + 1
            case 0x0A: lineIsEmpty = true
            case 0x0D: continue
            default: lineIsEmpty = false
            }
        }
        return nil
    }
}
