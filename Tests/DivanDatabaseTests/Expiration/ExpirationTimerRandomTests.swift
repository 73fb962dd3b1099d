// SPDX-License-Identifier: Apache-2.0

@testable import DivanDatabase
import DivanJSON
internal import DivanModel
import DivanTestSupport
import FoundationEssentials
import Testing

/// The timer while dates are set, changed and removed, the clock jumps, and the timer is stopped and begun again.
@Suite struct ExpirationTimerRandomTests {
    @Test func `the timer is set for the first date, whatever happens`() throws {
        for round in Soak.rounds(test: 60, soak: 3_000) {
            var random = Soak.random(round: round, salt: 0x7155)
            let database = try Database.inMemory()
            defer { database.close() }
            let clock = TestClock(Date(timeIntervalSince1970: 4_000_000_000))
            let timer = database.core.expirationTimer
            database.setExpirationClock { clock.now }
            var isRunning = true
            for _ in 0..<30 {
                let id: DocumentID = "d\(random.below(5))"
                let exists = try database.contains(id)
                switch random.below(9) {
                case 0, 1: if !exists { try database.create(id) }
                case 2, 3, 4:
                    let date = clock.now.addingTimeInterval(Double(random.below(1_000) - 5))
                    if exists { try? database.setExpiration(of: id, at: date) }
                case 5: if exists { try? database.setExpiration(of: id, at: nil) }
                case 6: _ = try? database.purge(id)
                case 7:
                    clock.now = clock.now.addingTimeInterval(Double(random.below(300)))
                    database.setExpirationClock { clock.now }
                default:
                    if isRunning { timer.stop() } else { timer.start(database.core) }
                    isRunning.toggle()
                }
                timer.checkInvariants()
            }
            if !isRunning { timer.start(database.core) }
            clock.now = clock.now.addingTimeInterval(10_000)
            database.setExpirationClock { clock.now }
            eventually { (try? database.documentsExpiring().isEmpty) ?? false }
            timer.checkInvariants()
            #expect(database.expirationDeadline == nil, "round \(round)")
            database.close()
            timer.checkInvariants()
        }
    }
}
