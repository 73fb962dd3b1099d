// SPDX-License-Identifier: Apache-2.0

@testable import DivanDatabase
import DivanJSON
internal import DivanModel
import DivanTestSupport
import FoundationEssentials
import Testing

/// Random dates and edits, compared with a dictionary of dates.
@Suite struct ExpirationReferenceTests {
    @Test func `dates equal those of a dictionary, whatever happens`() throws {
        for round in Soak.rounds(test: 200, soak: 5_000) {
            var random = Soak.random(round: round, salt: 0x6578_7069)
            let database = try Database.inMemory()
            defer { database.close() }
            database.core.expirationTimer.stop()
            let clock = TestClock(Date(timeIntervalSince1970: 4_000_000_000))
            database.setExpirationClock { clock.now }
            var reference: [DocumentID: Date?] = [:]
            for step in 0..<40 {
                let id: DocumentID = "d\(random.below(6))"
                try Self.act(id, database, clock, &reference, &random)
                let dates = try database.documentsExpiring()
                let expected = reference.compactMap { id, date in date.map { (id, $0) } }
                    .sorted { ($0.1, $0.0) < ($1.1, $1.0) }
                #expect(dates.map(\.documentID) == expected.map(\.0), "Round \(round), \(step)")
                #expect(dates.map(\.date) == expected.map(\.1), "Round \(round), \(step)")
                #expect(try database.expirationDate(of: id) == reference[id] ?? nil)
            }
            #expect(try database.problems() == [], "Round \(round)")
        }
    }

    private static func act(
        _ id: DocumentID, _ database: Database, _ clock: TestClock,
        _ reference: inout [DocumentID: Date?], _ random: inout SeededRandom
    ) throws {
        let exists = reference.keys.contains(id)
        switch random.below(10) {
        case 0, 1, 2:
            let stored = try database.document(withID: id)
            let document = stored?.toMutable() ?? MutableDocument(id: id)
            document.set(Int64(random.below(1_000)), forKey: "n")
            try database.save(document)
            // What is made anew after a deletion has no date.
            if stored == nil { reference[id] = .some(nil) }
        case 3, 4, 5:
            let date = clock.now.addingTimeInterval(Double(random.below(100)))
            if exists {
                try database.setExpiration(of: id, at: date)
                reference[id] = date
            } else {
                #expect(
                    code { try database.setExpiration(of: id, at: date) } == .documentNotFound)
            }
        case 6:
            guard exists else { return }
            try database.setExpiration(of: id, at: nil)
            reference[id] = .some(nil)
        case 7: if exists { try database.delete(id) }
        case 8:
            #expect(try database.purge(id) == exists)
            reference[id] = nil
        default:
            clock.now = clock.now.addingTimeInterval(Double(random.below(40)))
            let due = reference.filter { $0.value.map { $0 <= clock.now } ?? false }.keys
            #expect(try database.purgeExpired() == due.count)
            for id in due { reference[id] = nil }
        }
    }
}
