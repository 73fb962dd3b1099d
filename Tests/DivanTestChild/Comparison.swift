// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import FoundationEssentials

/// Opens a damaged database and judges what it answers.
struct Comparison {
    private let path: String
    private let expected: [Answers.Entry]
    private var random: SeededRandom
    /// What a database that does not open may say.
    private static let refusals: Set<DatabaseError.Code> = [.corrupted, .unsupportedVersion, .io]

    init(_ path: String, _ expected: [Answers.Entry], _ random: SeededRandom) {
        self.path = path
        self.expected = expected
        self.random = random
    }

    /// One word, then details; `WRONG` when a promise is broken.
    mutating func outcome() -> String {
        let database: Database
        do {
            database = try .forTest(
                at: path, readOnly: random.oneIn(4), busyTimeout: .milliseconds(500))
        } catch let error as DatabaseError where Self.refusals.contains(error.code) {
            return "refused \(error.code)"
        } catch {
            return "WRONG refused with \(error)"
        }
        defer { database.close() }
        let outcome = judge(database)
        if !outcome.hasPrefix("WRONG") {
            useIt(database)
            if random.oneIn(8) { return salvage() ?? outcome }
        }
        return outcome
    }

    private func judge(_ database: Database) -> String {
        let answers = Answers(database)
        if let altered = answers.altered.first { return "WRONG altered content: \(altered)" }
        var errors = 0
        var differences: [String] = []
        for (now, before) in zip(answers.entries, expected) {
            switch (now.answer, before.answer) {
            case (.success(let text), .success(let original)):
                if text != original { differences.append(Self.difference(now, original, text)) }
            case (.failure(let error), _):
                guard let error = error as? DatabaseError, error.code == .corrupted else {
                    return "WRONG \(now.question) \(now.documentID ?? ""): \(error)"
                }
                if let id = now.documentID, error.documentID != id {
                    return "WRONG no ID \(id) in: \(error) \(error.documentID ?? "")"
                }
                errors += 1
            case (.success(let text), .failure):
                return "WRONG an answer where there was an error: \(text)"
            }
        }
        guard let difference = differences.first else {
            return errors == 0 ? "same" : "errors \(errors)"
        }
        do {
            let problems = try database.verify()
            guard problems.isEmpty else { return "found \(problems.count)" }
        } catch let error as DatabaseError where error.code == .corrupted {
            return "found by an error"
        } catch {
            return "WRONG verify: \(error)"
        }
        return "WRONG unnoticed, \(differences.count) answers, errors \(errors): \(difference)"
    }

    private static func difference(_ entry: Answers.Entry, _ old: String, _ new: String) -> String {
        "\(entry.question) \(entry.documentID ?? ""): \(old.prefix(200)) -> \(new.prefix(200))"
    }

    /// Writes into it: whatever comes of that, it must not crash or hang.
    private func useIt(_ database: Database) {
        _ = try? database.save(MutableDocument(["new": true], id: "new"))
        for id in DamageFixture.ids.prefix(12) {
            _ = try? database.update(id) { $0["n"] = 1 }
            _ = try? database.purge(id)
        }
        for id in DamageFixture.ids.suffix(12) { _ = try? database.delete(id) }
        try? database.putLocalDocument("local-1", ["new": true])
        _ = try? database.compact()
        _ = try? database.verify()
    }

    /// Copies what is left; what comes of it must be whole and sound. Nil when it is.
    private func salvage() -> String? {
        let target = path + "-salvaged"
        try? FileManager.default.removeItem(atPath: target)
        defer { try? FileManager.default.removeItem(atPath: target) }
        do {
            _ = try Database.salvage(from: URL(filePath: path), to: URL(filePath: target))
            let copy = try Database.forTest(at: target)
            defer { copy.close() }
            let problems = try copy.verify()
            return problems.first.map { "WRONG salvage made: \($0)" }
        } catch let error as DatabaseError where Self.refusals.contains(error.code) {
            return nil
        } catch {
            return "WRONG salvage: \(error)"
        }
    }
}
