// SPDX-License-Identifier: Apache-2.0

internal import CMulticast

/// A socket of multicast DNS, of one family of addresses, which it shares with other programs of this host.
struct MulticastSocket: Sendable {
    /// A packet that has come.
    struct Packet {
        var bytes: [UInt8]
        var peer: PacketPeer
        var interface: UInt32
    }

    /// 4 or 6.
    let family: Int32
    /// The system's number of the socket.
    let descriptor: Int32

    /// Opens one; nil where the system refuses, as for a family that it does not have.
    init?(family: Int32) {
        descriptor = divan_multicast_open(family)
        self.family = family
        guard descriptor >= 0 else { return nil }
    }

    /// Hears what is sent on a link, or no longer does.
    func hear(_ interface: UInt32, _ isOn: Bool) {
        // An interface that has just gone, or has no address of this family yet, is met again at the next change.
        _ =
            isOn
            ? divan_multicast_join(descriptor, family, interface)
            : divan_multicast_leave(descriptor, family, interface)
    }

    /// Sends a packet to all on a link, or to one host. What the network refuses is lost, as any packet may be.
    func send(_ bytes: [UInt8], on interface: UInt32, to peer: PacketPeer?) {
        var packet = divan_packet()
        packet.family = family
        packet.interface = interface
        if let peer {
            packet.port = peer.port
            // SAFETY: the address is lent to the copy.
            unsafe withUnsafeMutableBytes(of: &packet.address) {
                unsafe $0.copyBytes(from: peer.address.prefix(16))
            }
        }
        // SAFETY: the bytes are lent to the call with their length.
        _ = unsafe bytes.withUnsafeBufferPointer {
            unsafe divan_multicast_send(descriptor, &packet, $0.baseAddress, $0.count)
        }
    }

    /// Takes the next packet that has come; nil when there is none.
    func receive() -> Packet? {
        var packet = divan_packet()
        var buffer = [UInt8](repeating: 0, count: DNSMessage.longest + 1)
        // SAFETY: the buffer is valid for the call, and its length is passed with it.
        let count = unsafe buffer.withUnsafeMutableBufferPointer {
            unsafe divan_multicast_receive(
                descriptor, family, &packet, $0.baseAddress, $0.count)
        }
        guard count >= 0 else { return nil }
        return Packet(
            bytes: Array(buffer.prefix(count)),
            peer: PacketPeer(
                address: NetworkLink.bytes(of: packet.address, family == 4 ? 4 : 16),
                port: packet.port),
            interface: packet.interface)
    }

    /// Closes it.
    func close() { divan_close(descriptor) }
}
