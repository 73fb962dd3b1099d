// SPDX-License-Identifier: Apache-2.0

/// A frame of a WebSocket, unmasked.
public struct LoopbackFrame: Sendable, Equatable {
    /// What it is: 1 text, 2 bytes, 8 close, 9 ping, 10 pong, 0 a continuation.
    public var opcode: UInt8
    /// Whether the client had masked it, as it must.
    public var isMasked = false
    /// What it carries.
    public var payload: [UInt8]

    /// Makes a frame.
    public init(opcode: UInt8, isMasked: Bool = false, payload: [UInt8]) {
        self.opcode = opcode
        self.isMasked = isMasked
        self.payload = payload
    }
}

// The server's side of a WebSocket, as bare as can be.
extension LoopbackConnection {
    /// Answers a request for a WebSocket.
    ///
    /// - Parameter accept: What belongs to the request's key.
    @discardableResult
    public func acceptWebSocket(_ accept: String) -> Bool {
        write(
            lines: "HTTP/1.1 101 Switching Protocols\nUpgrade: websocket\nConnection: Upgrade\n"
                + "Sec-WebSocket-Accept: \(accept)\n\n")
    }

    /// Writes a frame; several make a message when only the last one says so.
    @discardableResult
    public func write(frame opcode: UInt8, _ payload: [UInt8], isLast: Bool = true) -> Bool {
        var frame = [opcode | (isLast ? 0x80 : 0)]
        if payload.count < 126 {
            frame.append(UInt8(payload.count))
        } else if payload.count < 65_536 {
            frame += [126, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
        } else {
            frame.append(127)
            for shift in stride(from: 56, through: 0, by: -8) {
                frame.append(UInt8(payload.count >> shift & 255))
            }
        }
        return write(frame + payload)
    }

    /// Writes a text.
    @discardableResult
    public func write(message text: String) -> Bool { write(frame: 1, Array(text.utf8)) }

    /// Reads the client's next frame; nil at the end.
    public func readFrame() -> LoopbackFrame? {
        guard let head = readBytes(2) else { return nil }
        var length = Int(head[1] & 0x7F)
        if length >= 126 {
            guard let digits = readBytes(length == 126 ? 2 : 8) else { return nil }
            length = digits.reduce(0) { $0 << 8 | Int($1) }
        }
        let isMasked = head[1] & 0x80 != 0
        guard let mask = isMasked ? readBytes(4) : [0, 0, 0, 0], let bytes = readBytes(length)
        else { return nil }
        let payload = bytes.enumerated().map { $0.element ^ mask[$0.offset & 3] }
        return LoopbackFrame(opcode: head[0] & 0x0F, isMasked: isMasked, payload: payload)
    }
}
