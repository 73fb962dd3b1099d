// SPDX-License-Identifier: Apache-2.0

/// The services of one type, as they are seen on all links: one instance may be seen on several.
struct Browsed: Sendable {
    let type: ServiceType
    private var browsers: [UInt32: Browser] = [:]
    private var findings: [DNSName: [UInt32: Browser.Finding]] = [:]

    init(_ type: ServiceType) { self.type = type }

    /// When something is to be done.
    var deadline: Duration? { browsers.values.compactMap(\.deadline).min() }

    /// Looks on these links, and on no others.
    mutating func follow(_ links: [NetworkLink], at now: Duration) {
        for index in browsers.keys where !links.contains(where: { $0.index == index }) {
            browsers[index] = nil
            for name in findings.keys { findings[name]?[index] = nil }
        }
        findings = findings.filter { !$0.value.isEmpty }
        for link in links where browsers[link.index] == nil {
            var browser = Browser(type.name, seed: .random(in: 0...UInt64.max))
            browser.start(at: now)
            browsers[link.index] = browser
        }
    }

    /// Takes a packet.
    mutating func receive(_ message: DNSMessage, on link: UInt32, at now: Duration) {
        browsers[link]?.receive(message, at: now)
    }

    /// Does what is due.
    mutating func tick(at now: Duration) {
        for index in browsers.keys { browsers[index]?.tick(at: now) }
    }

    /// Hands over what is to be sent, and says whether the services have changed.
    mutating func perform(send: (DNSMessage, UInt32) -> Void) -> Bool {
        var isChanged = false
        for index in browsers.keys.sorted() {
            while let action = browsers[index]?.takeAction() {
                switch action {
                case .multicast(let message): send(message, index)
                case .found(let finding):
                    findings[finding.instance, default: [:]][index] = finding
                    isChanged = true
                case .lost(let name):
                    findings[name]?[index] = nil
                    if findings[name]?.isEmpty ?? false { findings[name] = nil }
                    isChanged = true
                }
            }
        }
        return isChanged
    }

    /// The services that are there, by name.
    func services(_ links: [NetworkLink]) -> [DiscoveredService] {
        findings.values.compactMap { seen in
            let parts = seen.sorted { $0.key < $1.key }
            guard let first = parts.first?.value, let name = first.instance.firstLabel else {
                return nil
            }
            var addresses: [DiscoveredService.Address] = []
            var known: Set<DiscoveredService.Address> = []
            for (index, finding) in parts {
                let interface = links.first { $0.index == index }?.name
                for bytes in finding.addresses {
                    let isOfLink = bytes.count == 16 && bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80
                    let address = DiscoveredService.Address(
                        bytes: bytes, interface: isOfLink ? interface : nil)
                    if known.insert(address).inserted { addresses.append(address) }
                }
            }
            return DiscoveredService(
                name: name, host: first.host.description, port: first.port,
                text: ServiceText(strings: first.text),
                addresses: addresses.filter { $0.bytes.count == 4 }
                    + addresses.filter { $0.bytes.count == 16 })
        }
        .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }
}
