// SPDX-License-Identifier: Apache-2.0

/// What the system's service has said of the services of one type, as a value.
///
/// The system hands on what strangers send, so it is read within the bounds of Divan's own browser.
///
/// ## Invariants
/// 1. At most `Browser.instanceLimit` names are kept, with `Browser.addressLimit` addresses each, whatever comes. What is kept is not
///    pushed out by what comes later.
/// 2. A service is listed when its port and an address are known.
struct SystemSearch: Sendable {
    /// A service, as far as it is known.
    struct Instance: Sendable {
        /// How often it was told that it is there: for each interface and family.
        var sights = 1
        /// Its host, and its port.
        var place: (host: String, port: UInt16)?
        /// What it tells about itself.
        var text = ServiceText()
        /// The addresses of its host, each with the number of its interface.
        var addresses: [Address] = []
    }

    /// An address as it was seen on an interface.
    struct Address: Sendable, Equatable {
        var bytes: [UInt8]
        var interface: UInt32
    }

    private(set) var instances: [DNSName: Instance] = [:]
    /// The names in the order in which they were found.
    private(set) var names: [DNSName] = []

    /// Takes that a service is there, or gone, on one interface.
    mutating func take(_ name: DNSName, isThere: Bool) {
        guard let sights = instances[name]?.sights else {
            guard isThere, names.count < Browser.instanceLimit else { return }
            instances[name] = Instance()
            names.append(name)
            return
        }
        instances[name]?.sights = sights + (isThere ? 1 : -1)
        guard !isThere, sights <= 1 else { return }
        instances[name] = nil
        names.removeAll { $0 == name }
    }

    /// Takes host, port and text of a service. Without them, or with such as no host sends, it is as before.
    mutating func resolve(_ name: DNSName, host: String, port: UInt16, text: [UInt8]) {
        let host = host.utf8.last == UInt8(ascii: ".") ? String(host.dropLast()) : host
        guard instances[name] != nil, port > 0, !host.isEmpty,
            let strings = try? DNSReader.strings(text)
        else { return }
        if instances[name]?.place?.host != host { instances[name]?.addresses = [] }
        instances[name]?.place = (host, port)
        instances[name]?.text = ServiceText(strings: strings)
    }

    /// Takes an address of the host of a service, or that it has it no longer.
    mutating func take(_ address: Address, of name: DNSName, isThere: Bool) {
        guard [4, 16].contains(address.bytes.count), var kept = instances[name]?.addresses else {
            return
        }
        kept.removeAll { $0 == address }
        if isThere, kept.count < Browser.addressLimit { kept.append(address) }
        instances[name]?.addresses = kept
    }

    /// Forgets the addresses of one family.
    mutating func dropAddresses(of name: DNSName, _ count: Int) {
        instances[name]?.addresses.removeAll { $0.bytes.count == count }
    }

    /// The services that are there, by name.
    func services(_ links: [NetworkLink]) -> [DiscoveredService] {
        instances.compactMap { name, instance in
            guard let place = instance.place, !instance.addresses.isEmpty,
                let name = name.firstLabel
            else { return nil }
            var addresses: [DiscoveredService.Address] = []
            for seen in instance.addresses {
                let isOfLink =
                    seen.bytes.count == 16 && seen.bytes[0] == 0xFE && seen.bytes[1] & 0xC0 == 0x80
                let link = links.first { $0.index == seen.interface }
                let address = DiscoveredService.Address(
                    bytes: seen.bytes, interface: isOfLink ? link?.name : nil)
                if !addresses.contains(address) { addresses.append(address) }
            }
            return DiscoveredService(
                name: name, host: place.host, port: place.port, text: instance.text,
                addresses: addresses.filter { $0.bytes.count == 4 }
                    + addresses.filter { $0.bytes.count == 16 })
        }
        .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }
}
