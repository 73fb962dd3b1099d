// SPDX-License-Identifier: Apache-2.0

import Divan
import FoundationEssentials
import Synchronization

/// Stores one large attachment, reads it in every way that streams, and says by how many kilobytes the
/// process's peak of memory has grown.
struct LargeContent {
    private let database: Database
    private let length: Int

    init(_ arguments: [String]) throws {
        database = try .forTest(at: arguments.argument(0), create: true)
        length = try arguments.number(1) * 1_024 * 1_024
    }

    func run() throws {
        try save("small", length: 1_000)
        let before = try Self.peakOfMemory()
        try save("large", length: length)
        guard let attachment = try database.document(withID: "large")?.attachment(named: "x") else {
            Report.trouble("the attachment is gone")
        }
        let reader = try attachment.makeReader()
        var position = 0
        while true {
            let piece = try reader.read(upTo: 256 * 1_024)
            if piece.isEmpty { break }
            guard piece[0] == Counting.byte(at: position) else {
                Report.trouble("the content differs at \(position)")
            }
            position += piece.count
        }
        guard position == length else { Report.trouble("\(position) bytes, not \(length)") }
        guard try attachment.content(in: length - 10..<length).count == 10 else {
            Report.trouble("the end is not where it should be")
        }
        try attachment.verify()
        Report.say("\(try Self.peakOfMemory() - before)")
        database.close()
    }

    private func save(_ id: DocumentID, length: Int) throws {
        let document = MutableDocument(id: id)
        document.setAttachment(
            named: "x", contentType: nil, .stream(Counting(length)).expecting(length: length))
        try database.save(document)
    }

    /// The peak of the memory that is the process's own, in kilobytes.
    private static func peakOfMemory() throws -> Int {
        let status = try String(contentsOf: URL(filePath: "/proc/self/status"), encoding: .utf8)
        for line in status.split(separator: "\n") where line.hasPrefix("VmHWM:") {
            return Int(
                line.split(separator: " ").dropLast().last?.split(separator: "\t").last ?? "")
                ?? 0
        }
        return 0
    }

    /// Bytes that tell their position, made as they are read.
    private final class Counting: AttachmentReader {
        private let length: Int
        private let position = Mutex(0)

        init(_ length: Int) { self.length = length }

        static func byte(at position: Int) -> UInt8 { UInt8(truncatingIfNeeded: position >> 10) }

        func read(upTo count: Int) -> [UInt8] {
            position.withLock { position in
                let start = position
                position = min(length, start + count)
                let end = position
                return [UInt8](unsafeUninitializedCapacity: end - start) { buffer, count in
                    for index in 0..<end - start { buffer[index] = Self.byte(at: start + index) }
                    count = end - start
                }
            }
        }
    }
}
