// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestChild
import DivanTestSupport
import FoundationEssentials
import Testing

/// A process that copies databases with another encryption, over and over, is killed at random moments.
///
/// Soak slices: 5.
@Suite(.enabled(if: TestEngine.isSQLite, "Only SQLite's databases are encrypted."))
struct CopyKillTests {
    @Test
    func
        `copies with another encryption are whole or not there after a kill, and their sources whole`()
        async throws
    {
        let sandbox = Sandbox()
        let rounds = Soak.rounds(test: 20, soak: 500)
        let copies = try await offPool {
            for number in UInt8(0)..<3 { try makeSource(sandbox, number) }
            var copies = KnownCopies()
            for round in rounds {
                var random = Soak.random(round: round, salt: 0x636F_7079)
                let child = try TestChild(
                    "recopy", sandbox.folder.path(percentEncoded: false), "\(random.next())")
                // It tells when it begins and when it is done: so far it comes on any machine. Every
                // other one dies soon after it began where there was nothing.
                let isEarly = round.isMultiple(of: 2)
                for _ in 0..<(isEarly ? 60 : random.below(5)) {
                    guard let line = child.readLine() else { break }
                    if copies.note(line), isEarly { break }
                }
                let delay = random.below(isEarly ? 2_000 : 60_000)
                for line in child.readLines(killingAfterMicroseconds: delay) { copies.note(line) }
                #expect(child.wait() == -9, "Round \(round): the child failed by itself.")
                try copies.check(sandbox, round: round)
                for number in copies.takeSources() {
                    try checkSource(sandbox, number, "Round \(round)")
                }
                try copies.removeSome(sandbox, &random)
            }
            for number in UInt8(0)..<3 { try checkSource(sandbox, number, "In the end") }
            return copies
        }
        // So many that the kills have hit children at work, and that work came to its end, too.
        #expect(copies.done >= rounds.count / 5)
        #expect(copies.interrupted >= rounds.count / 5)
        #expect(copies.absent >= rounds.count / 10)
    }

    private func makeSource(_ sandbox: Sandbox, _ number: UInt8) throws {
        let database = try sandbox.database("source-\(number)") {
            $0.encryptionKey = try? copyKey(number)
        }
        try database.inBatch {
            for document in 0..<KnownCopies.count(number) {
                let document = EncryptionSamples.document(document)
                if document.id.text.hasSuffix("0") {
                    document.setAttachment(
                        named: "a", contentType: nil, .bytes(Secrets.content(70_000)))
                }
                try database.save(document)
            }
        }
        #expect(database.isEncrypted == (number > 0))
        database.close()
    }

    private func checkSource(_ sandbox: Sandbox, _ number: UInt8, _ when: String) throws {
        let database = try sandbox.database("source-\(number)") {
            $0.create = false
            $0.encryptionKey = try? copyKey(number)
        }
        defer { database.close() }
        try expectWhole(database, number, "\(when): source-\(number)")
    }
}

/// The key of a number; none for 0.
private func copyKey(_ number: UInt8) throws -> EncryptionKey? {
    number == 0 ? nil : try EncryptionSamples.key(number)
}

/// Whether a database holds what a source does, every document and attachment.
private func expectWhole(_ database: Database, _ source: UInt8, _ place: String) throws {
    #expect(try database.documentCount == KnownCopies.count(source), "\(place)")
    var options = AllDocumentsOptions()
    options.includeDocuments = true
    try database.forEachDocument(options) { row in
        let number = row.document?["wombatness"].int64 ?? -1
        let isWhole = row.document?.string(forKey: "text") == "the quizzical xylophone \(number)"
        if !isWhole || row.id != "secret-id-\(number)" {
            Issue.record("\(place): \(row.id) is not whole.")
        }
    }
    let attachment = try database.existing("secret-id-10").attachment(named: "a")
    #expect(try attachment?.content() == Secrets.content(70_000), "\(place)")
    let problems = try database.verify()
    #expect(problems.isEmpty, "\(place): \(problems.prefix(3))")
}

/// What the children have said so far, and so what may be at each place of a copy.
private struct KnownCopies {
    /// A copy: which source it has, and which key opens it.
    struct Copy: Hashable {
        var source: UInt8
        var key: UInt8
    }

    /// What may be at each place; nil is no database.
    private var possible: [String: Set<Copy?>] = [:]
    /// The places and sources that the last child said it goes to work on: all others are as they were.
    private var places: Set<String> = []
    private var sources: Set<UInt8> = []
    /// The places where a copy without encryption is, or may have left something.
    private var plain: Set<String> = []
    private(set) var done = 0
    /// The kills that hit a child at work, and those that left no database where one was being made.
    private(set) var (interrupted, absent) = (0, 0)

    /// How many documents a source has, which tells them apart.
    static func count(_ source: UInt8) -> Int { 40 + Int(source) * 10 }

    /// After `done` there is that alone; after `begin` also what was announced.
    ///
    /// - Returns: Whether a copy began where there was nothing.
    @discardableResult
    mutating func note(_ line: String) -> Bool {
        let words = line.split(separator: " ")
        guard words.count == 4, let source = UInt8(words[2]), let key = UInt8(words[3]) else {
            return false
        }
        let (name, copy) = (String(words[1]), Copy(source: source, key: key))
        if words[0] == "done" {
            possible[name] = [copy]
            done += 1
            return false
        }
        let wasEmpty = possible[name, default: [nil]] == [nil]
        possible[name, default: [nil]].insert(copy)
        places.insert(name)
        sources.insert(source)
        if key == 0 { plain.insert(name) }
        return wasEmpty
    }

    /// The sources that the last child copied.
    mutating func takeSources() -> [UInt8] {
        defer { sources = [] }
        return sources.sorted()
    }

    /// Looks at what the last child left.
    mutating func check(_ sandbox: Sandbox, round: Int) throws {
        defer { places = [] }
        for name in places.sorted() {
            guard let copies = possible[name] else { continue }
            let files = try Sandbox.contents(of: sandbox.url(name))
            if copies.count > 1 { interrupted += 1 }
            // As the kill has left it, before this test opens it.
            if !plain.contains(name) {
                expectSealed(files, name, round)
            }
            let isThere = files["manifest"] != nil
            guard isThere else {
                #expect(copies.contains(nil), "Round \(round): \(name) is gone.")
                if copies.count > 1 { absent += 1 }
                possible[name] = [nil]
                continue
            }
            let found = try checkCopy(sandbox, name, copies, round: round)
            possible[name] = [found]
            if found.key > 0 { plain.remove(name) }
        }
    }

    /// Looks for words that a copy with a key must not have, also when it did not come about.
    private func expectSealed(_ files: [String: Data], _ name: String, _ round: Int) {
        for (path, data) in files {
            for word in Secrets.words + ["SQLite format"] where data.contains(text: word) {
                Issue.record("Round \(round): \(word) in \(path) of \(name)")
            }
        }
    }

    /// Opens a copy with each key; the one that fits must be one that was asked for.
    private func checkCopy(
        _ sandbox: Sandbox, _ name: String, _ copies: Set<Copy?>, round: Int
    ) throws -> Copy {
        var found: [Copy] = []
        for key in UInt8(0)..<4 {
            let opened: Database
            do {
                opened = try sandbox.database(name) {
                    $0.create = false
                    $0.encryptionKey = try? copyKey(key)
                }
            } catch let error as DatabaseError where error.code == .unauthorized {
                continue
            }
            defer { opened.close() }
            let source = UInt8(clamping: (try opened.documentCount - 40) / 10)
            try expectWhole(opened, source, "Round \(round): \(name)")
            #expect(opened.isEncrypted == (key > 0), "Round \(round): \(name)")
            found.append(Copy(source: source, key: key))
        }
        #expect(found.count == 1, "Round \(round): \(name) opens with \(found).")
        let copy = try #require(found.first)
        #expect(copies.contains(copy), "Round \(round): \(name) is \(copy), not of \(copies).")
        let names = try FileManager.default.contentsOfDirectory(
            atPath: sandbox.url(name).path(percentEncoded: false))
        #expect(names.count == 4, "Round \(round): \(name) has \(names.sorted())")
        return copy
    }

    /// Removes whole copies, one at least unless a place is empty, so that others come where nothing is.
    /// What a kill left is not touched: the next copy goes over it.
    mutating func removeSome(_ sandbox: Sandbox, _ random: inout SeededRandom) throws {
        var hasEmpty = possible.values.contains { $0.contains(nil) }
        for (name, copies) in possible.sorted(by: { $0.key < $1.key })
        where !copies.contains(nil) && (random.oneIn(2) || !hasEmpty) {
            hasEmpty = true
            try FileManager.default.removeItem(at: sandbox.url(name))
            possible[name] = [nil]
            plain.remove(name)
        }
    }
}
