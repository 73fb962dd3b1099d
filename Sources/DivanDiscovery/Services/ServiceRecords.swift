// SPDX-License-Identifier: Apache-2.0

/// One service as the records that announce it on one link (RFC 6763, 4 and 6).
///
///     _services._dns-sd._udp.local  PTR  _divan._tcp.local               shared: which types there are
///     _divan._tcp.local             PTR  Ann's notes._divan._tcp.local   shared: which instances
///     Ann's notes._divan._tcp.local SRV  0 0 49213 divan-4f2a.local      unique: where
///     Ann's notes._divan._tcp.local TXT  v=2                             unique: what it tells
///     divan-4f2a.local              A    192.0.2.7                       unique: the host on this link
struct ServiceRecords: Sendable, Equatable {
    /// The list of all types of services.
    static let listOfTypes = DNSName(
        trusted: ["_services", "_dns-sd", "_udp", "local"].map { Array($0.utf8) })
    /// Seconds for which records of hosts hold.
    static let hostLifetime: UInt32 = 120
    /// Seconds for which all others hold.
    static let lifetime: UInt32 = 4_500

    /// The name of the instance.
    let instance: DNSName
    /// The name of the host.
    let host: DNSName
    /// Records that others may have, too.
    let shared: [DNSRecord]
    /// Records that are this host's alone.
    let unique: [DNSRecord]

    /// - Parameters:
    ///   - instance: The name of the instance, below the type's.
    ///   - host: The name of the host.
    ///   - port: The port of the service.
    ///   - text: What it tells about itself.
    ///   - addresses: Addresses of the host on the link, of 4 or 16 bytes.
    init(
        instance: DNSName, host: DNSName, port: UInt16, text: ServiceText, addresses: [[UInt8]]
    ) {
        let type = instance.parent
        self.instance = instance
        self.host = host
        shared = [
            DNSRecord(type, .ptr(instance), lifetime: Self.lifetime, isUnique: false),
            DNSRecord(Self.listOfTypes, .ptr(type), lifetime: Self.lifetime, isUnique: false),
        ]
        unique =
            [
                DNSRecord(
                    instance, .srv(priority: 0, weight: 0, port: port, target: host),
                    lifetime: Self.hostLifetime, isUnique: true),
                DNSRecord(
                    instance, .txt(text.strings), lifetime: Self.lifetime, isUnique: true),
            ] + Self.records(of: addresses, host)
    }

    /// All records.
    var all: [DNSRecord] { shared + unique }

    /// The records of a host's addresses.
    static func records(of addresses: [[UInt8]], _ host: DNSName) -> [DNSRecord] {
        addresses.map {
            DNSRecord(
                host, $0.count == 4 ? .a($0) : .aaaa($0), lifetime: hostLifetime, isUnique: true)
        }
    }

    /// What says that a name of ours has no records of other kinds than these; nil for names that are not ours.
    func absence(of type: DNSType, at name: DNSName) -> DNSRecord? {
        let owned = unique.filter { $0.name == name }
        guard let first = owned.first, type != .any, !owned.contains(where: { $0.type == type })
        else { return nil }
        let types = Set(owned.map(\.type.rawValue)).sorted().map(DNSType.init)
        return DNSRecord(
            name, .nsec(next: name, types: types), lifetime: first.lifetime, isUnique: true)
    }

    /// Records that will be asked for next by the reader of some others.
    func companions(of records: [DNSRecord]) -> [DNSRecord] {
        var names: [DNSName] = []
        if records.contains(where: { $0.content == .ptr(instance) }) { names += [instance, host] }
        if records.contains(where: { $0.type == .srv }) { names.append(host) }
        return unique.filter { names.contains($0.name) && !records.contains($0) }
    }
}
