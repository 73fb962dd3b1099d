// SPDX-License-Identifier: Apache-2.0

import DivanDatabase
import Foundation
import Testing

@testable import DivanListener

/// Where the body of a request is kept until it is worked on.
@Suite struct BodyCollectorTests {
    private func collect(_ body: [UInt8], piece: Int) -> BodyCollector {
        var collector = BodyCollector()
        for start in stride(from: 0, to: body.count, by: piece) {
            let end = min(start + piece, body.count)
            let isTaken = body[start..<end].withUnsafeBytes {
                collector.append($0, limit: 100 << 20)
            }
            #expect(isTaken)
        }
        return collector
    }

    private func body(_ length: Int) -> [UInt8] {
        Array(String(repeating: "the quizzical xylophone ", count: length / 24).utf8)
    }

    @Test(arguments: [0, 240, 4 << 20, (4 << 20) + 240, 9_600_000], [1_000, 65_536, 5 << 20])
    func `a body comes back as it was sent, whole and in parts`(length: Int, piece: Int) throws {
        let body = body(length)
        var collector = collect(body, piece: piece)
        let finished = collector.finish()
        let kept = try #require(finished)
        #expect(kept.length == body.count)
        let isInFile = if case .file = kept { true } else { false }
        #expect(isInFile == (body.count > BodyCollector.largestInMemory))
        #expect(try kept.bytes(in: 0..<body.count) == body)
        if body.count > 70_000 {
            #expect(try kept.bytes(in: 65_000..<66_000) == Array(body[65_000..<66_000]))
        }
        let reader = kept.reader()
        var read: [UInt8] = []
        while true {
            let piece = try reader.read(upTo: 300_000)
            if piece.isEmpty { break }
            read += piece
        }
        #expect(read == body)
    }

    @Test func `a body longer than the limit is refused`() {
        var collector = BodyCollector()
        let bytes = [UInt8](repeating: 1, count: 100)
        let taken = (0..<2).map { _ in bytes.withUnsafeBytes { collector.append($0, limit: 150) } }
        #expect(taken == [true, false])
    }

    #if os(Linux)
    @Test func `a long body on the disk has nothing of what was sent`() throws {
        var collector = collect(body(9_600_000), piece: 65_536)
        #expect(try spilled().count > 0)
        let kept = collector.finish()
        let files = try spilled()
        #expect(files.count > 0)
        for file in files {
            #expect(file.range(of: Data("xylophone".utf8)) == nil)
            #expect(file.range(of: Data("quizzical".utf8)) == nil)
        }
        #expect(kept != nil)
    }

    /// The contents of the large files without a name that this process has open.
    private func spilled() throws -> [Data] {
        let folder = "/proc/self/fd/"
        var found: [Data] = []
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: folder + name)
            guard let target, target.contains("divan-"), target.hasSuffix(" (deleted)"),
                let data = try? Data(contentsOf: URL(filePath: folder + name)),
                data.count > 4 << 20
            else { continue }
            found.append(data)
        }
        return found
    }
    #endif
}
