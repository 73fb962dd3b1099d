// SPDX-License-Identifier: Apache-2.0

/// Writes packets, with names that occurred before as pointers to where they did.
///
/// Names within the content of SRV and NSEC records are written whole: old resolvers do not expect pointers there.
struct DNSWriter {
    private(set) var bytes: [UInt8] = []
    private var places: [DNSName: Int] = [:]

    mutating func number16(_ value: UInt16) {
        bytes.append(UInt8(truncatingIfNeeded: value >> 8))
        bytes.append(UInt8(truncatingIfNeeded: value))
    }

    mutating func question(_ question: DNSQuestion) {
        name(question.name)
        number16(question.type.rawValue)
        number16(DNSRecord.internet | (question.wantsUnicast ? 0x8000 : 0))
    }

    mutating func record(_ record: DNSRecord) {
        name(record.name)
        number16(record.type.rawValue)
        number16(DNSRecord.internet | (record.isUnique ? 0x8000 : 0))
        number16(UInt16(truncatingIfNeeded: record.lifetime >> 16))
        number16(UInt16(truncatingIfNeeded: record.lifetime))
        let place = bytes.count
        number16(0)
        content(record.content, isCompressing: true)
        let length = UInt16(clamping: bytes.count - place - 2)
        bytes[place] = UInt8(truncatingIfNeeded: length >> 8)
        bytes[place + 1] = UInt8(truncatingIfNeeded: length)
    }

    /// Writes what a record says. Without pointers these are the bytes that two claims to one name are compared by.
    mutating func content(_ content: DNSRecord.Content, isCompressing: Bool) {
        switch content {
        case .a(let address), .aaaa(let address): bytes += address
        case .ptr(let target): isCompressing ? name(target) : wholeName(target)
        case .srv(let priority, let weight, let port, let target):
            number16(priority)
            number16(weight)
            number16(port)
            wholeName(target)
        case .txt(let strings):
            for string in strings.isEmpty ? [[]] : strings {
                bytes.append(UInt8(clamping: string.count))
                bytes += string.prefix(255)
            }
        case .nsec(let next, let types):
            wholeName(next)
            bytes += Self.bitmap(types)
        case .other(_, let content): bytes += content
        }
    }

    private mutating func name(_ name: DNSName) {
        var rest = name
        while !rest.labels.isEmpty {
            if let place = places[rest] {
                number16(0xC000 | UInt16(truncatingIfNeeded: place))
                return
            }
            // Pointers have 14 bits.
            if bytes.count < 0x4000 { places[rest] = bytes.count }
            label(rest.labels[0])
            rest = rest.parent
        }
        bytes.append(0)
    }

    private mutating func wholeName(_ name: DNSName) {
        for part in name.labels { label(part) }
        bytes.append(0)
    }

    private mutating func label(_ label: [UInt8]) {
        bytes.append(UInt8(truncatingIfNeeded: label.count))
        bytes += label
    }

    /// Which types there are, as NSEC says it: one window of 256 types (RFC 4034, 4.1.2). All that we have are below 256.
    private static func bitmap(_ types: [DNSType]) -> [UInt8] {
        var bits = [UInt8](repeating: 0, count: 32)
        for type in types where type.rawValue < 256 {
            bits[Int(type.rawValue / 8)] |= 0x80 >> UInt8(type.rawValue % 8)
        }
        let length = (bits.lastIndex { $0 != 0 } ?? 0) + 1
        return [0, UInt8(length)] + bits.prefix(length)
    }
}

extension DNSMessage {
    /// The packet.
    package var bytes: [UInt8] {
        var writer = DNSWriter()
        writer.number16(identifier)
        // An answer is always with authority (RFC 6762, 18.4).
        writer.number16((isResponse ? 0x8400 : 0) | (isTruncated ? 0x0200 : 0))
        for count in [questions.count, answers.count, authorities.count, additional.count] {
            writer.number16(UInt16(clamping: count))
        }
        for question in questions { writer.question(question) }
        for record in answers + authorities + additional { writer.record(record) }
        return writer.bytes
    }

    /// The message, cut to what one packet holds: at first additional records are left out, then answers, which the message says
    /// (RFC 6762, 18.5). One answer is left, however long it is.
    var inOnePacket: DNSMessage {
        var shorter = self
        while shorter.bytes.count > Self.usual {
            if !shorter.additional.isEmpty {
                shorter.additional.removeLast((shorter.additional.count + 1) / 2)
            } else if shorter.answers.count > 1 {
                shorter.answers.removeLast(shorter.answers.count / 2)
                shorter.isTruncated = true
            } else {
                break
            }
        }
        return shorter
    }

    /// The message in pieces that fit a packet each: known answers go on in further questions, of which all but the last say so, and
    /// so do questions; additional records that have no room are left out.
    package var packets: [[UInt8]] {
        let whole = bytes
        guard whole.count > Self.usual else { return [whole] }
        if !additional.isEmpty {
            var shorter = self
            shorter.additional.removeLast((additional.count + 1) / 2)
            return shorter.packets
        }
        if questions.count > 1, authorities.isEmpty {
            // The known answers are those of the first question.
            var (first, second) = (self, self)
            first.questions = Array(questions.prefix(questions.count / 2))
            second.questions = Array(questions.dropFirst(questions.count / 2))
            second.answers = []
            return first.packets + second.packets
        }
        guard answers.count > 1 else { return [whole] }
        var (first, second) = (self, DNSMessage(isResponse: isResponse))
        first.answers = Array(answers.prefix(answers.count / 2))
        first.isTruncated = !isResponse
        second.identifier = identifier
        second.answers = Array(answers.dropFirst(answers.count / 2))
        second.isTruncated = isTruncated
        return first.packets + second.packets
    }
}

extension DNSRecord {
    /// The bytes by which claims to one name are compared (RFC 6762, 8.2): class, type, and the content without pointers.
    var claim: [UInt8] {
        var writer = DNSWriter()
        writer.number16(Self.internet)
        writer.number16(type.rawValue)
        writer.content(content, isCompressing: false)
        return writer.bytes
    }
}
