// SPDX-License-Identifier: Apache-2.0

/// Takes the frames of a WebSocket apart, as a client receives them, and puts messages together (RFC 6455).
///
///     bit  0    1-3   4-7     8     9-15     then 2 or 8 bytes      then
///          fin  0     opcode  mask  length   length if 126 or 127   payload
///
/// A server's frames are not masked, a client's are. A message is one frame, or one with an opcode and
/// others that continue it; pings and their like may stand between.
package struct WebSocketFrames: Sendable {
    /// What was read.
    package enum Event: Sendable, Equatable {
        /// A whole message, text or not.
        case message([UInt8])
        /// A question for a sign of life; a pong with the same payload answers it.
        case ping([UInt8])
        /// The answer to one.
        case pong
        /// The other end closes; with its reason, if it gave one.
        case close(UInt16?)
    }

    /// Why bytes are no frames.
    package enum Failure: Error, Equatable {
        /// A rule is broken.
        case malformed
        /// A message is longer than allowed.
        case tooLong
    }

    /// The kinds of frames that a client sends.
    enum Opcode: UInt8 {
        case text = 1
        case close = 8
        case pong = 10
    }

    private let limit: Int
    private var input = InputBuffer()
    private var message: [UInt8] = []
    private var isInMessage = false

    /// Makes a reader of frames.
    ///
    /// - Parameter limit: The longest message.
    package init(limit: Int) { self.limit = limit }

    /// Takes in the next bytes.
    package mutating func push(_ bytes: ArraySlice<UInt8>) { input.append(bytes) }

    /// The next event; `nil` when it takes more bytes.
    ///
    /// - Throws: ``Failure`` when the bytes are no frames, or a message is too long.
    package mutating func next() throws(Failure) -> Event? {
        while let frame = try takeFrame() {
            switch frame.opcode {
            case 0, 1, 2:
                guard (frame.opcode == 0) == isInMessage else { throw .malformed }
                guard message.count + frame.payload.count <= limit else { throw .tooLong }
                message += frame.payload
                isInMessage = !frame.isLast
                guard frame.isLast else { continue }
                defer { message = [] }
                return .message(message)
            case 8: return .close(Self.reason(frame.payload))
            case 9: return .ping(Array(frame.payload))
            case 10: return .pong
            default: throw .malformed
            }
        }
        return nil
    }

    private struct Frame {
        var opcode: UInt8
        var isLast: Bool
        var payload: ArraySlice<UInt8>
    }

    private mutating func takeFrame() throws(Failure) -> Frame? {
        let rest = input.rest
        guard rest.count >= 2 else { return nil }
        let (first, second) = (rest[rest.startIndex], rest[rest.startIndex + 1])
        guard first & 0x70 == 0, second & 0x80 == 0 else { throw .malformed }
        var length = Int(clamping: second)
        var head = 2
        if length >= 126 {
            head += length == 126 ? 2 : 8
            guard rest.count >= head else { return nil }
            let digits = rest[(rest.startIndex + 2)..<(rest.startIndex + head)]
            guard head == 4 || digits.first == 0 else { throw .tooLong }
            length = digits.reduce(0) { $0 << 8 | Int(clamping: $1) }
        }
        let isControl = first & 0x08 != 0
        guard !isControl || (length < 126 && first & 0x80 != 0) else { throw .malformed }
        guard length <= limit else { throw .tooLong }
        guard rest.count - head >= length else { return nil }
        let start = rest.startIndex + head
        input.drop(head + length)
        return Frame(
            opcode: first & 0x0F, isLast: first & 0x80 != 0, payload: rest[start..<(start + length)]
        )
    }

    private static func reason(_ payload: ArraySlice<UInt8>) -> UInt16? {
        guard payload.count >= 2 else { return nil }
        return payload.prefix(2).reduce(0) { $0 << 8 | UInt16(clamping: $1) }
    }

    /// A frame of a client: one whole message, masked, so that nothing in between takes it for HTTP.
    static func frame(
        _ opcode: Opcode, _ payload: [UInt8], using random: inout some RandomNumberGenerator
    ) -> [UInt8] {
        let mask = (0..<4).map { _ in UInt8.random(in: 0...255, using: &random) }
        var frame = [0x80 | opcode.rawValue]
        switch payload.count {
        case ..<126: frame.append(0x80 | UInt8(clamping: payload.count))
        case ..<65_536: frame += [0x80 | 126] + bytes(payload.count, 2)
        default: frame += [0x80 | 127] + bytes(payload.count, 8)
        }
        frame += mask
        for (index, byte) in payload.enumerated() { frame.append(byte ^ mask[index & 3]) }
        return frame
    }

    private static func bytes(_ number: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: number >> ((count - 1 - $0) * 8)) }
    }
}
