// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel

extension ReplicationEngine {
    /// Stops the program where an invariant does not hold between two events; for tests.
    ///
    /// - Parameter isFaithful: Whether the source gives pages no longer than it was asked for.
    package func checkInvariants(isFaithful: Bool = true) {
        checkUnits()
        checkSafe()
        checkLimits(isFaithful: isFaithful)
        checkCounts()
    }

    /// Invariant 1.
    private func checkUnits() {
        precondition(Set(units.keys) == Set(firstUnit..<nextUnit), "invariant 1")
        var documents: [Int: Int] = [:]
        for place in remaining.keys { documents[place.unit, default: 0] += 1 }
        for (number, unit) in units {
            precondition(!unit.isFinished || number > firstUnit, "invariant 1")
            if unit.isCompared {
                precondition(unit.open == documents[number] ?? 0, "invariant 1")
                precondition(offers[number] == nil, "invariant 1")
            } else {
                precondition(unit.open > 0 && documents[number] == nil, "invariant 1")
                precondition(isStopping || offers[number] == nil, "invariant 1")
            }
        }
        precondition(documents.keys.allSatisfy { units[$0] != nil }, "invariant 1")
        // Each revision that is not done is in exactly one place on its way.
        var underWay: [Place: Int] = [:]
        for one in wanted[wantedStart...] + fetches.values.joined() {
            underWay[Place(unit: one.unit, id: one.missing.id), default: 0] +=
                one.missing.revisions.count
        }
        for one in ready + stores.values.joined() {
            underWay[Place(unit: one.unit, id: one.id), default: 0] += 1
        }
        precondition(underWay == remaining.mapValues(\.revisions), "invariant 1")
    }

    /// Invariant 2.
    private func checkSafe() {
        let hasFailed = units.values.contains(where: \.hasFailed)
        precondition((failure != nil) == (isBlocked || hasFailed), "invariant 2")
        if units.isEmpty, !isBlocked { precondition(safe == readPosition, "invariant 2") }
        precondition(!isSaving || safe != nil, "invariant 2")
        if isFinished {
            precondition(!isSaving && stores.isEmpty && (isStopping || isDrained), "invariant 2")
        }
    }

    /// Invariant 3.
    private func checkLimits(isFaithful: Bool) {
        precondition(units.count + (isReading ? 1 : 0) <= limits.units, "invariant 3")
        precondition(fetches.count <= limits.fetches, "invariant 3")
        for fetch in fetches.values {
            let count = fetch.reduce(0) { $0 + $1.missing.revisions.count }
            precondition(count > 0 && count <= limits.revisionsPerFetch, "invariant 3")
        }
        precondition(stores.count <= limits.stores, "invariant 3")
        for store in stores.values {
            precondition(!store.isEmpty && store.count <= limits.revisionsPerStore, "invariant 3")
        }
        precondition(
            readyBytes == ready.reduce(0) { $0 + $1.document.heldBytes }, "invariant 3")
        guard isFaithful else { return }
        precondition(units.values.allSatisfy { $0.open <= limits.page }, "invariant 3")
    }

    /// Invariant 4.
    private func checkCounts() {
        let open = units.values.reduce(0) { $0 + ($1.isCompared ? 0 : $1.open) }
        precondition(uncompared == open, "invariant 4")
        precondition(remaining.values.allSatisfy { $0.revisions > 0 }, "invariant 4")
        precondition(transferred <= counts.written, "invariant 4")
        precondition(counts.written <= counts.read && counts.read <= counts.found, "invariant 4")
    }
}
