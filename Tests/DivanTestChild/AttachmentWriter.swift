// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport

/// Adds, replaces, removes and sweeps attachments until it is killed.
///
/// After each save it says the document's ID, its revision and the digests of its attachments.
struct AttachmentWriter {
    private let database: Database
    private var random: SeededRandom

    init(_ arguments: [String]) throws {
        database = try .forTest(at: arguments.argument(0), create: true)
        random = SeededRandom(seed: try arguments.number(1))
    }

    mutating func run() throws {
        Report.say("ready")
        while true {
            let id: DocumentID = "document-\(random.below(8))"
            switch random.below(10) {
            case 0: try database.compact()
            case 1: try database.purge(id)
            case 2:
                if try database.contains(id) { try database.delete(id) }
            default: try save(id)
            }
        }
    }

    private mutating func save(_ id: DocumentID) throws {
        let document = try database.document(withID: id)?.toMutable() ?? MutableDocument(id: id)
        document["n"] = Fragment(random.below(1_000))
        for name in ["a", "b"] where random.oneIn(2) {
            if random.oneIn(4) {
                document.removeAttachment(named: name)
            } else {
                document.setAttachment(
                    named: name, contentType: nil, .bytes(Self.content(random.below(12))))
            }
        }
        if random.oneIn(3) {
            document["blob"] = Blob(contentType: nil, Self.content(random.below(12)))
        }
        let saved = try database.save(document).document
        Report.say(
            ([saved.id.text, saved.revisionID.description] + saved.attachments.map(\.digest))
                .joined(separator: " "))
    }

    /// One of the contents that all children know, from one byte to half a megabyte.
    static func content(_ number: Int) -> [UInt8] {
        [UInt8](repeating: UInt8(number), count: 1 << (number + 7))
    }
}

/// Adds and removes the same ten contents as another process does, and sweeps now and then.
///
/// Whatever it has just saved must be there, whole, whatever the other one does meanwhile.
struct ContentWriter {
    private let database: Database
    private let name: String
    private var random: SeededRandom
    private let rounds: Int

    init(_ arguments: [String]) throws {
        database = try .forTest(at: arguments.argument(0), create: true)
        name = try arguments.argument(1)
        random = SeededRandom(seed: try arguments.number(2))
        rounds = try arguments.number(3)
    }

    mutating func run() throws {
        for round in 0..<rounds {
            let number = random.below(10)
            let id: DocumentID = "\(name)-\(number)"
            if try database.contains(id) {
                try database.purge(id)
            } else {
                let document = MutableDocument(id: id)
                document.setAttachment(
                    named: "x", contentType: nil, .bytes(AttachmentWriter.content(number)))
                try database.save(document)
            }
            if random.oneIn(5) { try database.compact() }
            try check(round)
        }
        database.close()
        Report.say("done")
    }

    /// Every document of this process has its content.
    private func check(_ round: Int) throws {
        for number in 0..<10 {
            guard let document = try database.document(withID: "\(name)-\(number)") else {
                continue
            }
            guard let attachment = document.attachment(named: "x"),
                try attachment.content() == AttachmentWriter.content(number)
            else { Report.trouble("round \(round): content \(number) is gone") }
        }
    }
}
