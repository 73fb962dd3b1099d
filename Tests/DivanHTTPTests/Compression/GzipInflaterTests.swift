// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanTestSupport
import Testing

@Suite struct GzipInflaterTests {
    /// `hello hello hello hello` as gzip.
    private static let hello = bytes(
        "1f8b0800000000000203cb48cdc9c957c8402701e3513d8d17000000")

    private static func bytes(_ hex: String) -> [UInt8] {
        stride(from: 0, to: hex.count, by: 2).compactMap { offset in
            UInt8(hex.dropFirst(offset).prefix(2), radix: 16)
        }
    }

    private func inflate(_ pieces: [[UInt8]], limits: GzipInflater.Limits = .init()) throws
        -> [UInt8]
    {
        let inflater = GzipInflater(limits: limits)
        var output: [UInt8] = []
        for piece in pieces {
            inflater.push(piece)
            while let decoded = try inflater.next() {
                #expect(!decoded.isEmpty && decoded.count <= 64 * 1_024)
                output += decoded
            }
        }
        try inflater.finish()
        return output
    }

    @Test func `a stream decodes the same wherever it is cut`() throws {
        let text = Array("hello hello hello hello".utf8)
        #expect(try inflate([Self.hello]) == text)
        #expect(try inflate(Self.hello.map { [$0] }) == text)
        #expect(try inflate([Self.hello + Self.hello]) == text + text)
        #expect(try inflate([]) == [])
    }

    @Test func `a stream that ends too early or is damaged is an error`() {
        for length in 1..<Self.hello.count {
            #expect(throws: GzipInflater.Failure.truncated) {
                try inflate([Array(Self.hello[..<length])])
            }
        }
        for place in Self.hello.indices where ![4, 5, 6, 7, 8, 9].contains(place) {
            var damaged = Self.hello
            damaged[place] ^= 0x55
            #expect(throws: GzipInflater.Failure.self) { try inflate([damaged]) }
        }
        #expect(throws: GzipInflater.Failure.damaged) { try inflate([Array("{}".utf8)]) }
    }

    @Test func `what decodes to far more than went in is refused beyond what is free`() throws {
        var limits = GzipInflater.Limits()
        limits.freeBytes = 10
        limits.ratio = 100
        #expect(try inflate([Self.hello], limits: limits).count == 23)
        limits.ratio = 1
        #expect(try inflate([Self.hello], limits: limits).count == 23)
        let zeros = GzipBomb(decodedSize: 1 << 20).bytes
        limits.ratio = 100
        #expect(throws: GzipInflater.Failure.tooLarge) { try inflate([zeros], limits: limits) }
    }
}
