// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Synchronization
import Testing

@testable import DivanHTTP

/// One exchange between a task and a thread that stands for the loop, in random pieces and speeds, without libcurl.
@Suite(.timeLimit(.minutes(10))) struct CurlTransferRandomTests {
    /// The most that is handed over at once.
    private static let largest = 20_000

    private struct Broken: Error {}

    @Test func `what is handed over arrives in order and bounded, and an error behind it`()
        async throws
    {
        let url = try HTTPURL("http://localhost/")
        for round in Soak.rounds(test: 12, soak: 2_000) {
            var random = Soak.random(round: round, salt: 0xC0A1)
            let bytes = (0..<random.below(900_000)).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            let breaksAt = random.oneIn(3) ? random.below(bytes.count + 1) : nil
            let request = HTTPRequest(
                .put, url,
                body: .stream(length: random.oneIn(2) ? bytes.count : nil) { throw Broken() })
            let transfer = CurlTransfer(request, timeouts: HTTPTimeouts())
            let seeds = (0..<4).map { _ in random.next() }
            async let upload = Self.upload(bytes, to: transfer, seeds[0])
            async let sent = Self.send(transfer, seeds[1])
            async let answer = Self.receive(transfer, seeds[2])
            let given = try await Self.answer(bytes, breaksAt, on: transfer, seeds[3])
            let (received, error) = await answer
            // What came before an error arrives before it, however late it is read.
            #expect(received == Array(bytes[..<given]), "round \(round)")
            if breaksAt == nil {
                #expect(given == bytes.count && error == nil, "round \(round)")
            } else {
                #expect(error is Broken, "round \(round)")
            }
            await upload
            #expect(bytes.starts(with: await sent), "round \(round)")
            transfer.checkInvariants(handedOver: Self.largest)
            #expect(!transfer.finish(.success(())), "only the first outcome counts")
        }
    }

    /// The task that gives the request's body.
    private static func upload(
        _ bytes: [UInt8], to transfer: CurlTransfer, _ seed: UInt64
    ) async {
        var random = SeededRandom(seed: seed)
        var place = 0
        while place < bytes.count {
            let end = min(bytes.count, place + random.below(largest))
            do { try await transfer.offer(Array(bytes[place..<end])) {} } catch { return }
            transfer.checkInvariants(handedOver: largest)
            place = end
        }
        transfer.endUpload {}
        transfer.checkInvariants(handedOver: largest)
    }

    /// The loop, as it sends what it is given.
    private static func send(_ transfer: CurlTransfer, _ seed: UInt64) async -> [UInt8] {
        var random = SeededRandom(seed: seed)
        var sent: [UInt8] = []
        while !transfer.isFinished {
            guard !transfer.pauses.sending else {
                await Task.yield()
                continue
            }
            var room = [UInt8](repeating: 0, count: 1 + random.below(largest))
            let count = room.withUnsafeMutableBufferPointer { transfer.fillUpload($0) }
            transfer.checkInvariants(handedOver: largest)
            if count == 0 { break }
            // What pauses or stops is beyond the room.
            if count <= room.count { sent += room.prefix(count) }
            if random.oneIn(3) { await Task.yield() }
        }
        return sent
    }

    /// The loop, as an answer comes in; returns how many bytes of it were handed over.
    private static func answer(
        _ bytes: [UInt8], _ breaksAt: Int?, on transfer: CurlTransfer, _ seed: UInt64
    ) async throws -> Int {
        var random = SeededRandom(seed: seed)
        for line in ["HTTP/1.1 200 OK\r\n", "A: b\r\n", "\r\n"] {
            let taken = Array(line.utf8).withUnsafeBufferPointer { transfer.receiveHead($0) }
            #expect(taken == line.utf8.count)
            transfer.checkInvariants(handedOver: largest)
        }
        var place = 0
        while place < bytes.count {
            if let breaksAt, place >= breaksAt { break }
            guard !transfer.pauses.receiving else {
                await Task.yield()
                continue
            }
            let end = min(bytes.count, place + 1 + random.below(largest - 1))
            let piece = Array(bytes[place..<end])
            let taken = piece.withUnsafeBufferPointer { transfer.receiveBody($0) }
            transfer.checkInvariants(handedOver: largest)
            if taken == piece.count { place = end }
            if random.oneIn(3) { await Task.yield() }
        }
        transfer.finish(breaksAt == nil ? .success(()) : .failure(Broken()))
        transfer.checkInvariants(handedOver: largest)
        return place
    }

    /// The task that reads the answer.
    private static func receive(
        _ transfer: CurlTransfer, _ seed: UInt64
    ) async -> ([UInt8], (any Error)?) {
        var random = SeededRandom(seed: seed)
        var received: [UInt8] = []
        do {
            let head = try await transfer.head {}
            #expect(head.status == 200)
            while let piece = try await transfer.nextPiece({}) {
                transfer.checkInvariants(handedOver: largest)
                received += piece
                if random.oneIn(4) { for _ in 0..<random.below(20) { await Task.yield() } }
            }
        } catch { return (received, error) }
        return (received, nil)
    }
}
