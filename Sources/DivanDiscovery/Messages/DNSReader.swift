// SPDX-License-Identifier: Apache-2.0

/// Why bytes are no message of multicast DNS.
package enum DNSFailure: Error, Equatable {
    /// The packet ends within something.
    case cutOff
    /// A name is too long, points forwards, or has a label of an unknown kind.
    case badName
    /// The content of a record is not what its kind has.
    case badRecord
    /// It is no question and no answer, or of a kind that multicast DNS does not have.
    case badHead
}

/// Reads a packet that any machine on the network may have sent.
///
/// ## Invariants
///
/// They are rules of any bytes: `MessageTests` show them with random and mutated packets, `DNSMessage.checkInvariants(ofPacket:)`
/// tests the third for each.
///
/// 1. Nothing is read outside the packet.
/// 2. A pointer of a name leads to before the part of the name that holds it, so that reading a name ends; and a name has no more
///    pointers than it can have labels, so that a long chain of them is not followed for each record again.
/// 3. What is made is bounded by the packet: a record takes at least 11 bytes of it, and a name at most 255.
struct DNSReader {
    private let bytes: [UInt8]
    private var position = 0

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Reads a whole packet. Records of classes other than that of the Internet are left out.
    static func message(_ bytes: [UInt8]) throws(DNSFailure) -> DNSMessage {
        guard bytes.count <= DNSMessage.longest else { throw .badHead }
        var reader = DNSReader(bytes)
        let identifier = try reader.number16()
        let flags = try reader.number16()
        // An operation other than a query, or a code of an error, is to be ignored (RFC 6762, 18.3, 18.11).
        guard flags & 0x7800 == 0, flags & 0x000F == 0 else { throw .badHead }
        var message = DNSMessage(isResponse: flags & 0x8000 != 0)
        message.identifier = identifier
        message.isTruncated = flags & 0x0200 != 0
        var counts: [UInt16] = []
        for _ in 0..<4 { counts.append(try reader.number16()) }
        for _ in 0..<counts[0] {
            if let question = try reader.question() { message.questions.append(question) }
        }
        message.answers = try reader.records(counts[1])
        message.authorities = try reader.records(counts[2])
        message.additional = try reader.records(counts[3])
        return message
    }

    /// Reads the content of a text record.
    static func strings(_ bytes: [UInt8]) throws(DNSFailure) -> [[UInt8]] {
        guard bytes.count <= DNSMessage.longest else { throw .badRecord }
        var reader = DNSReader(bytes)
        return try reader.strings(until: bytes.count)
    }

    private mutating func question() throws(DNSFailure) -> DNSQuestion? {
        let name = try name()
        let type = DNSType(rawValue: try number16())
        let kind = try number16()
        // 255 asks in every class.
        guard [DNSRecord.internet, 255].contains(kind & 0x7FFF) else { return nil }
        return DNSQuestion(name, type, wantsUnicast: kind & 0x8000 != 0)
    }

    private mutating func records(_ count: UInt16) throws(DNSFailure) -> [DNSRecord] {
        var records: [DNSRecord] = []
        for _ in 0..<count {
            if let record = try record() { records.append(record) }
        }
        return records
    }

    private mutating func record() throws(DNSFailure) -> DNSRecord? {
        let name = try name()
        let type = DNSType(rawValue: try number16())
        let kind = try number16()
        let lifetime = UInt32(try number16()) << 16 | UInt32(try number16())
        let length = Int(try number16())
        guard bytes.count - position >= length else { throw .cutOff }
        let end = position + length
        let content = try content(type, until: end)
        guard position == end else { throw .badRecord }
        guard kind & 0x7FFF == DNSRecord.internet else { return nil }
        // A lifetime with its highest bit counts as none (RFC 2181, 8).
        return DNSRecord(
            name, content, lifetime: lifetime > Int32.max ? 0 : lifetime,
            isUnique: kind & 0x8000 != 0)
    }

    private mutating func content(
        _ type: DNSType, until end: Int
    ) throws(DNSFailure) -> DNSRecord.Content {
        switch type {
        case .a:
            guard end - position == 4 else { throw .badRecord }
            return .a(take(until: end))
        case .aaaa:
            guard end - position == 16 else { throw .badRecord }
            return .aaaa(take(until: end))
        case .ptr: return .ptr(try name())
        case .srv:
            guard end - position >= 7 else { throw .badRecord }
            return .srv(
                priority: try number16(), weight: try number16(), port: try number16(),
                target: try name())
        case .txt: return .txt(try strings(until: end))
        default: return .other(type, take(until: end))
        }
    }

    private mutating func strings(until end: Int) throws(DNSFailure) -> [[UInt8]] {
        var strings: [[UInt8]] = []
        while position < end {
            let length = Int(bytes[position])
            position += 1
            guard end - position >= length else { throw .badRecord }
            // An empty string says that there is nothing to say (RFC 6763, 6.1).
            let string = take(until: position + length)
            if !string.isEmpty { strings.append(string) }
        }
        return strings
    }

    private mutating func name() throws(DNSFailure) -> DNSName {
        var labels: [[UInt8]] = []
        var length = 1
        var place = position
        var start = position
        var pointers = 0
        while true {
            guard place < bytes.count else { throw .cutOff }
            let byte = bytes[place]
            switch byte & 0xC0 {
            case 0 where byte == 0:
                if pointers == 0 { position = place + 1 }
                return DNSName(trusted: labels)
            case 0:
                let end = place + 1 + Int(byte)
                guard end <= bytes.count else { throw .cutOff }
                length += 1 + Int(byte)
                guard length <= DNSName.longest else { throw .badName }
                labels.append(Array(bytes[place + 1..<end]))
                place = end
            case 0xC0:
                guard place + 1 < bytes.count else { throw .cutOff }
                if pointers == 0 { position = place + 2 }
                let target = Int(byte & 0x3F) << 8 | Int(bytes[place + 1])
                pointers += 1
                guard target < start, pointers <= DNSName.mostLabels else { throw .badName }
                (place, start) = (target, target)
            default: throw .badName
            }
        }
    }

    private mutating func number16() throws(DNSFailure) -> UInt16 {
        guard bytes.count - position >= 2 else { throw .cutOff }
        defer { position += 2 }
        return UInt16(bytes[position]) << 8 | UInt16(bytes[position + 1])
    }

    /// Takes bytes of which the caller knows that they are there.
    private mutating func take(until end: Int) -> [UInt8] {
        defer { position = end }
        return Array(bytes[position..<end])
    }
}

extension DNSMessage {
    /// Reads a packet.
    package init(_ bytes: [UInt8]) throws(DNSFailure) { self = try DNSReader.message(bytes) }

    /// Stops the program where more was made of a packet than it holds; for tests.
    func checkInvariants(ofPacket count: Int) {
        precondition(12 + 5 * questions.count + 11 * records.count <= count, "invariant 3")
        for name in questions.map(\.name) + records.map(\.name) { name.checkInvariants() }
    }
}
