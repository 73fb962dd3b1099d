// SPDX-License-Identifier: Apache-2.0

@testable import DivanQuery
import DivanDatabase
internal import DivanModel
import Testing

/// What is noted of the rows that writes have touched leads from one place of an index to another.
@Suite(.timeLimit(.minutes(1))) struct IndexTouchesTests {
    private let touches = IndexTouches()
    private let name = IndexName(.view, "v")

    private func place(_ sequence: SequenceNumber) -> IndexTouches.Place {
        IndexTouches.Place(number: 1, sequence: sequence, purge: 0)
    }

    @Test func `a write that leaves an index where it stood is no step`() {
        let token = touches.follow(name)
        touches.note(name, from: place(1), to: place(1), keys: [])
        touches.note(name, from: place(1), to: place(2), keys: [[7]])
        #expect(touches.keys(name, from: place(1), to: place(2)) == [[7]])
        withExtendedLifetime(token) {}
    }

    @Test func `steps lead on in any order, and nowhere where one is missing`() {
        let token = touches.follow(name)
        touches.note(name, from: place(2), to: place(4), keys: [[2], [3]])
        touches.note(name, from: place(1), to: place(2), keys: [[1]])
        #expect(touches.keys(name, from: place(1), to: place(4)) == [[1], [2], [3]])
        #expect(touches.keys(name, from: place(1), to: place(1)) == [])
        #expect(touches.keys(name, from: place(1), to: place(3)) == nil)
        #expect(touches.keys(name, from: place(0), to: place(4)) == nil)
        withExtendedLifetime(token) {}
    }
}
