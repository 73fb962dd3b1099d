// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanTestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The memory of this process that no file backs, in bytes; `nil` where the system does not tell, and
/// under a sanitizer, which keeps aside what was freed.
private func anonymousMemory() -> Int? {
    guard !Sanitizer.isOn,
        let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
        let line = status.split(separator: "\n").first(where: { $0.hasPrefix("RssAnon:") }),
        let kilobytes = line.split(whereSeparator: { !$0.isNumber }).first.flatMap({ Int($0) })
    else { return nil }
    return kilobytes * 1_024
}

/// Whether memory can be measured here.
private var measuresMemory: Bool { anonymousMemory() != nil }

// What measures memory runs in a process of its own, where nothing else allocates.
@Suite struct CurlBackpressureTests {
    /// Sends 64 kB again and again until the client is gone or so many were sent.
    private static func flood(_ counter: Counter, pieces: Int = .max) throws -> LoopbackServer {
        let piece = [UInt8](repeating: 0x20, count: 64 * 1_024)
        return try LoopbackServer { _, connection in
            connection.write(lines: "HTTP/1.1 200 OK\n\n")
            for _ in 0..<pieces {
                guard connection.write(piece) else { return }
                counter.add(piece.count)
            }
            connection.interrupt()
        }
    }

    @Test func `a reader that stops makes the server wait, and loses nothing`() async throws {
        let counter = Counter()
        let total = 64 << 20
        let server = try Self.flood(counter, pieces: total / (64 * 1_024))
        defer { server.stop() }
        // A reader may stand still for longer than a server may be silent.
        let transport = try CurlTransport.direct { $0.timeouts.silence = .seconds(2) }
        let response = try await transport.send(HTTPRequest(.get, try server.url()))
        var bytes = response.body.makeAsyncIterator()
        var count = try await bytes.next()?.count ?? 0
        try await Task.sleep(for: .seconds(3))
        // What the sockets of both ends hold is the system's affair: a few megabytes.
        #expect(counter.value < total / 2)
        while let piece = try await bytes.next() { count += piece.count }
        #expect(count == total)
    }

    @Test(.enabled(if: measuresMemory, "The memory of this process is not told."))
    func `sixteen readers that stand still cost less than 32 MB`() async {
        await #expect(processExitsWith: .success) {
            try await CurlBackpressureTests.sixteenReaders()
        }
    }

    private static func sixteenReaders() async throws {
        let before = try #require(anonymousMemory())
        let counter = Counter()
        let server = try Self.flood(counter)
        defer { server.stop() }
        let transport = try CurlTransport.direct()
        var readers: [HTTPBodyStream.Iterator] = []
        for _ in 0..<16 {
            let response = try await transport.send(HTTPRequest(.get, try server.url()))
            var reader = response.body.makeAsyncIterator()
            _ = try await reader.next()
            readers.append(reader)
        }
        // Until nothing moves any more.
        var sent = -1
        while counter.value != sent {
            sent = counter.value
            try await Task.sleep(for: .milliseconds(500))
        }
        let grown = (anonymousMemory() ?? 0) - before
        #expect(grown < 32 << 20, "\(grown)")
        #expect(readers.count == 16)
    }

    @Test(.enabled(if: measuresMemory, "The memory of this process is not told."))
    func `a gzip bomb of 1 GB costs less than 32 MB and is refused`() async {
        await #expect(processExitsWith: .success) { try await CurlBackpressureTests.refusedBomb() }
    }

    private static func refusedBomb() async throws {
        let bomb = GzipBomb(decodedSize: 1 << 30).bytes
        let server = try LoopbackServer { _, connection in
            connection.respond(status: 200, headers: [("Content-Encoding", "gzip")], body: bomb)
        }
        defer { server.stop() }
        let before = try #require(anonymousMemory())
        let transport = try CurlTransport.direct()
        let response = try await transport.send(HTTPRequest(.get, try server.url()))
        var count = 0
        var highest = 0
        let error = await failure {
            for try await piece in response.body {
                count += piece.count
                if count % (1 << 20) < piece.count {
                    highest = max(highest, anonymousMemory() ?? 0)
                }
            }
        }
        #expect(error?.code == .tooLarge && error?.isTransient == false)
        #expect(count <= 64 << 20)
        #expect(highest - before < 32 << 20, "\(highest - before)")
    }

    @Test(.enabled(if: measuresMemory, "The memory of this process is not told."))
    func `a gzip bomb that is allowed streams in the same memory`() async {
        await #expect(processExitsWith: .success) { try await CurlBackpressureTests.allowedBomb() }
    }

    private static func allowedBomb() async throws {
        let bomb = GzipBomb(decodedSize: 1 << 30).bytes
        let server = try LoopbackServer { _, connection in
            connection.respond(status: 200, headers: [("Content-Encoding", "gzip")], body: bomb)
        }
        defer { server.stop() }
        let before = try #require(anonymousMemory())
        let transport = try CurlTransport.direct { $0.gzipLimits.ratio = 2_000 }
        let response = try await transport.send(HTTPRequest(.get, try server.url()))
        var count = 0
        var highest = 0
        let error = await failure {
            for try await piece in response.body {
                count += piece.count
                if count % (16 << 20) < piece.count {
                    highest = max(highest, anonymousMemory() ?? 0)
                }
            }
        }
        // Its checksum is wrong, which shows behind all the bytes.
        #expect(error?.code == .damagedContent)
        #expect(count > 1_000_000_000)
        #expect(highest - before < 32 << 20, "\(highest - before)")
    }
}
