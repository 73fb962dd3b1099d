// SPDX-License-Identifier: Apache-2.0

/// The kind of a record, by its number.
package struct DNSType: Hashable, Sendable, RawRepresentable {
    /// An IPv4 address.
    package static let a = DNSType(rawValue: 1)
    /// Another name: of a type of services, its instances.
    package static let ptr = DNSType(rawValue: 12)
    /// What an instance tells about itself.
    package static let txt = DNSType(rawValue: 16)
    /// An IPv6 address.
    package static let aaaa = DNSType(rawValue: 28)
    /// Host and port of an instance.
    package static let srv = DNSType(rawValue: 33)
    /// Which kinds of records a name has, and so which it lacks.
    package static let nsec = DNSType(rawValue: 47)
    /// In a question: of any kind.
    package static let any = DNSType(rawValue: 255)

    /// The number.
    package let rawValue: UInt16

    /// Makes the kind with a number.
    package init(rawValue: UInt16) { self.rawValue = rawValue }
}

/// What a host on the link says of a name, and for how long it holds (RFC 6762, 10).
///
/// A *unique* record stands for all that its sender knows of that name and kind, so it takes the place of what was known
/// (the *cache-flush* bit). A *shared* one, such as the pointer from a type to one of its instances, stands beside those of others.
package struct DNSRecord: Hashable, Sendable {
    /// What is said.
    package enum Content: Hashable, Sendable {
        case a([UInt8])
        case aaaa([UInt8])
        case ptr(DNSName)
        case srv(priority: UInt16, weight: UInt16, port: UInt16, target: DNSName)
        case txt([[UInt8]])
        case nsec(next: DNSName, types: [DNSType])
        case other(DNSType, [UInt8])
    }

    /// The class of the Internet, the only one that multicast DNS uses.
    static let internet: UInt16 = 1

    /// Of what it is said.
    package var name: DNSName
    /// What is said.
    package var content: Content
    /// For how many seconds it holds; 0 when it holds no longer.
    package var lifetime: UInt32
    /// Whether it is all that its sender knows of that name and kind.
    package var isUnique: Bool

    /// Makes a record.
    package init(_ name: DNSName, _ content: Content, lifetime: UInt32, isUnique: Bool) {
        self.name = name
        self.content = content
        self.lifetime = lifetime
        self.isUnique = isUnique
    }

    /// The kind of the record.
    package var type: DNSType {
        switch content {
        case .a: .a
        case .aaaa: .aaaa
        case .ptr: .ptr
        case .srv: .srv
        case .txt: .txt
        case .nsec: .nsec
        case .other(let type, _): type
        }
    }

    /// Whether both say the same of the same name, whatever their lifetimes.
    package func says(whatSays other: DNSRecord) -> Bool {
        name == other.name && content == other.content
    }

    /// What is said of which name, to look it up among others.
    struct Statement: Hashable, Sendable {
        let name: DNSName
        let content: Content
    }

    /// What the record says, whatever its lifetime: the same for two of which each says what the other does.
    var statement: Statement { Statement(name: name, content: content) }

    /// The same, no longer true.
    package var withdrawn: DNSRecord {
        var copy = self
        copy.lifetime = 0
        return copy
    }
}

/// What is asked of a name.
package struct DNSQuestion: Hashable, Sendable {
    /// The name.
    package var name: DNSName
    /// The kind of records.
    package var type: DNSType
    /// Whether the asker takes an answer that goes to it alone.
    package var wantsUnicast = false

    /// Makes a question.
    package init(_ name: DNSName, _ type: DNSType, wantsUnicast: Bool = false) {
        self.name = name
        self.type = type
        self.wantsUnicast = wantsUnicast
    }

    /// Whether a record answers the question.
    package func isAnswered(by record: DNSRecord) -> Bool {
        (type == .any || type == record.type) && name == record.name
    }
}
