// SPDX-License-Identifier: Apache-2.0

internal import DivanDiscovery
internal import DivanListener
internal import DivanSystem

/// The marks by which a device shows its peers, and no other device, that it is there.
///
/// For each peer there is a mark of six bytes, which the two derive from what only they know and the date. So a service tells
/// neither a name, nor a key, nor anything that is the same tomorrow; marks that only the device can tell from others fill it up to a multiple of
/// eight, so that it does not tell the number of peers either. They stay the same all day, or two texts would tell them apart.
///
/// This is for those who only listen: who connects is shown a certificate, which stays the same.
enum PeerMarks {
    private static let day: Int64 = 86_400
    /// So many marks stand in one string of a text, which has at most 254 bytes.
    private static let marksOfString = 40

    /// The days since 1970.
    static var today: Int64 { WallClock.secondsSince1970 / day }

    /// What a device tells about itself.
    static func text(for peers: [PairedPeer], of own: ListenerTLS, day: Int64) -> ServiceText {
        var marks = peers.map { PeerKey.mark($0.secret, of: own.keyDigest, day: day) }
        while marks.isEmpty || marks.count % 8 != 0 {
            marks.append(
                Array(
                    Secrets.sign(
                        Array("divan filler \(day) \(marks.count)".utf8), key: Array(own.key.utf8)
                    )
                    .prefix(PeerKey.markLength)))
        }
        marks.sort { $0.lexicographicallyPrecedes($1) }
        var strings = [Array("v=1".utf8)]
        var start = 0
        while start < marks.count {
            let end = min(start + marksOfString, marks.count)
            strings.append(Array("m\(strings.count)=".utf8) + marks[start..<end].joined())
            start = end
        }
        return ServiceText(strings: strings)
    }

    /// The marks in what a service tells, bounded by the length of such a text.
    static func marks(of text: ServiceText) -> Set<[UInt8]> {
        var marks: Set<[UInt8]> = []
        for number in 1...4 {
            guard let bytes = text.bytes(of: "m\(number)") else { break }
            var rest = bytes[...]
            while rest.count >= PeerKey.markLength {
                marks.insert(Array(rest.prefix(PeerKey.markLength)))
                rest = rest.dropFirst(PeerKey.markLength)
            }
        }
        return marks
    }

    /// The marks that a peer may show: those of today and, since clocks differ, of the days around it.
    static func expected(of peer: PairedPeer, day: Int64) -> [[UInt8]] {
        [day, day - 1, day + 1].map { PeerKey.mark(peer.secret, of: peer.key, day: $0) }
    }
}
