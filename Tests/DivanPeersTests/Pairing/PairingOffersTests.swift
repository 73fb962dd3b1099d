// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanListener
import DivanTestSupport
import Testing

@testable import DivanPeers

/// The links that wait for a device, beside a plain list of them.
@Suite(.timeLimit(.minutes(10))) struct PairingOffersTests {
    private struct Model {
        var secret: [UInt8]
        var end: ContinuousClock.Instant
        var isUsed = false
    }

    @Test(arguments: [1 as UInt64, 2, 3, 4])
    func `a secret counts once, until its end, while it is one of the newest`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var offers = PairingOffers()
        var models: [Model] = []
        var now = ContinuousClock.now
        for _ in 0..<3_000 {
            now += .seconds(Int.random(in: 0...3, using: &random))
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                let model = Model(
                    secret: (0..<16).map { _ in UInt8.random(in: 0...255, using: &random) },
                    end: now + .seconds(Int.random(in: 1...200, using: &random)))
                offers.add(
                    .init(
                        digest: PairingOffers.digest(model.secret), databases: ["notes"],
                        end: model.end, confirm: nil, revocations: 0))
                models.append(model)
            case 5..<9:
                guard let place = models.indices.suffix(90).randomElement(using: &random) else {
                    continue
                }
                let model = models[place]
                let isKept = models.count - place <= PairingOffers.most
                let expected: PairingRefusal? =
                    !isKept
                    ? .unknownLink : model.isUsed ? .used : now >= model.end ? .expired : nil
                switch offers.use(model.secret, now: now) {
                case .success: #expect(expected == nil)
                case .failure(let refusal): #expect(refusal == expected)
                }
                if isKept { models[place].isUsed = true }
            default:
                let guess = (0..<16).map { _ in UInt8.random(in: 0...255, using: &random) }
                guard case .failure(.unknownLink) = offers.use(guess, now: now) else {
                    Issue.record("A guess is no link.")
                    return
                }
            }
            offers.checkInvariants()
        }
    }

    @Test func `what two devices derive is the same for both and another for any other input`() {
        let link = [UInt8](repeating: 1, count: 16)
        let (host, guest) = ([UInt8](repeating: 2, count: 32), [UInt8](repeating: 3, count: 32))
        func code(
            _ link: [UInt8], _ host: [UInt8], _ guest: [UInt8], _ one: UInt8, _ other: UInt8
        ) -> String {
            PeerKey.code(
                PeerKey.codeKey(link, host: host, guest: guest),
                hostNonce: [UInt8](repeating: one, count: 16),
                guestNonce: [UInt8](repeating: other, count: 16))
        }
        let codes = [
            code(link, host, guest, 5, 6), code(link, guest, host, 5, 6),
            code(link, host, guest, 6, 5),
            code(link, host, guest, 5, 7),
            code([UInt8](repeating: 4, count: 16), host, guest, 5, 6),
        ]
        #expect(Set(codes).count == 5)
        #expect(codes.allSatisfy { $0.utf8.count == 7 })
        let secret = PeerKey.secret(link, host: host, guest: guest)
        let marks = [
            PeerKey.mark(secret, of: host, day: 1), PeerKey.mark(secret, of: guest, day: 1),
            PeerKey.mark(secret, of: host, day: 2), PeerKey.mark(link, of: host, day: 1),
        ]
        let nonce = [UInt8](repeating: 5, count: 16)
        #expect(PeerKey.commitment(to: nonce, of: guest) != PeerKey.commitment(to: nonce, of: host))
        #expect(Set(marks).count == 4)
        #expect(marks.allSatisfy { $0.count == PeerKey.markLength })
    }
}
