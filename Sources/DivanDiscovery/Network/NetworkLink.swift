// SPDX-License-Identifier: Apache-2.0

internal import CMulticast

/// An interface of this host, and so a link on which others can be met.
struct NetworkLink: Sendable, Equatable {
    /// An address of this host on the link.
    struct Address: Sendable, Equatable {
        /// 4 or 16 bytes.
        var bytes: [UInt8]
        /// Bits that all hosts of the link share.
        var prefix: Int
    }

    /// The system's number of the interface.
    let index: UInt32
    /// Its name, such as `eth0`.
    let name: String
    /// The addresses of this host on it.
    var addresses: [Address]

    /// Which families of addresses it has, 4 and 6.
    var families: [Int32] {
        [4, 6].filter { family in addresses.contains { $0.bytes.count == (family == 4 ? 4 : 16) } }
    }

    /// Whether an address is one of a host on the link, so that what comes from it came over the link (RFC 6762, 11).
    func holds(_ address: [UInt8]) -> Bool {
        if address.count == 16, address[0] == 0xFE, address[1] & 0xC0 == 0x80 { return true }
        return addresses.contains { own in
            own.bytes.count == address.count && own.prefix > 0
                && Self.samePrefix(own.bytes, address, own.prefix)
        }
    }

    private static func samePrefix(_ one: [UInt8], _ other: [UInt8], _ bits: Int) -> Bool {
        let whole = min(bits / 8, one.count)
        guard one.prefix(whole) == other.prefix(whole) else { return false }
        guard whole < one.count, bits % 8 > 0 else { return true }
        return (one[whole] ^ other[whole]) >> UInt8(8 - bits % 8) == 0
    }

    /// The links of this host that multicast now.
    static func current() -> [NetworkLink] {
        var list = [divan_interface](repeating: divan_interface(), count: 256)
        // SAFETY: the list is valid for the call, and its length is passed with it.
        let count = unsafe list.withUnsafeMutableBufferPointer {
            unsafe divan_interfaces($0.baseAddress, Int32($0.count))
        }
        var links: [UInt32: NetworkLink] = [:]
        for item in list.prefix(max(0, Int(count))) {
            guard item.index > 0, item.multicasts != 0 else { continue }
            let address = Address(
                bytes: bytes(of: item.address, item.family == 4 ? 4 : 16), prefix: Int(item.prefix))
            links[
                item.index,
                default: NetworkLink(index: item.index, name: name(of: item), addresses: [])
            ].addresses.append(address)
        }
        return links.values.sorted { $0.index < $1.index }
    }

    /// Which interfaces have been down since the last call, if only for a moment, though they may be up again; nil where that is not known.
    static func interrupted(_ changes: Int32) -> Set<UInt32>? {
        var list = [UInt32](repeating: 0, count: 64)
        // SAFETY: the list is valid for the call, and its length is passed with it.
        let count = unsafe list.withUnsafeMutableBufferPointer {
            unsafe divan_interfaces_drain(changes, $0.baseAddress, Int32($0.count))
        }
        return count <= list.count ? Set(list.prefix(Int(count))) : nil
    }

    private static func name(of item: divan_interface) -> String {
        // SAFETY: the name is lent to the copy.
        unsafe withUnsafeBytes(of: item.name) {
            unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
    }

    /// The first bytes of an address of the C structure.
    static func bytes<Tuple>(of tuple: Tuple, _ count: Int) -> [UInt8] {
        // SAFETY: the address is lent to the copy.
        unsafe withUnsafeBytes(of: tuple) { unsafe Array($0.prefix(count)) }
    }
}
