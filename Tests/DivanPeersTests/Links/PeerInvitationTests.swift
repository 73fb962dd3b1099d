// SPDX-License-Identifier: Apache-2.0

import DivanPeers
import Foundation
import Testing

struct PeerInvitationTests {
    @Test func `an invitation ends at its moment, and not before`() {
        let end = Date(timeIntervalSince1970: 1_795_711_385)
        let invitation = PeerInvitation(secret: PairingSecret(), expires: end)
        #expect(invitation.expires == end)
        #expect(!invitation.hasExpired(at: end - 0.001))
        #expect(invitation.hasExpired(at: end) && invitation.hasExpired(at: end + 1))
        let later = PeerInvitation(secret: PairingSecret(), expires: end + 0.9)
        #expect(later.expires == end)
    }

    @Test func `an invitation lasts as long as it is given`() {
        let before = Date()
        let invitation = PeerInvitation(lasting: .seconds(300))
        #expect(invitation.expires >= before + 299 && invitation.expires <= Date() + 300)
        #expect(!invitation.hasExpired() && PeerInvitation(lasting: .zero).hasExpired())
        #expect(PeerInvitation(lasting: .seconds(-5)).hasExpired())
    }

    @Test func `no number and no date is beyond an invitation`() {
        let (first, last) = (1_000_000_000.0, 9_999_999_999.0)
        #expect(PeerInvitation(lasting: .seconds(Int64.max)).expires.timeIntervalSince1970 == last)
        #expect(PeerInvitation(lasting: .seconds(Int64.min)).expires.timeIntervalSince1970 == first)
        for (seconds, end) in [
            (Double.infinity, last), (-Double.infinity, first), (1e300, last), (-1, first),
            (.nan, first),
        ] {
            let invitation = PeerInvitation(
                secret: PairingSecret(), expires: Date(timeIntervalSince1970: seconds))
            #expect(invitation.expires.timeIntervalSince1970 == end, "\(seconds)")
        }
    }

    @Test func `every invitation has a secret of its own`() {
        let secrets = Set((0..<1_000).map { _ in PeerInvitation(lasting: .zero).secret })
        #expect(secrets.count == 1_000)
        #expect(secrets.allSatisfy { $0.bytes.count == PairingSecret.size })
    }

    @Test func `secrets are equal when all their bytes are`() throws {
        let bytes: [UInt8] = Array(0..<16)
        let secret = try #require(PairingSecret(bytes: bytes))
        #expect(PairingSecret(bytes: bytes) == secret)
        for place in bytes.indices {
            var others = bytes
            others[place] ^= 0x80
            #expect(PairingSecret(bytes: others) != secret, "\(place)")
        }
        #expect(PairingSecret(bytes: bytes + [0]) == nil && PairingSecret(bytes: []) == nil)
    }
}
