// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex

// Plans for callers that say themselves what is read, and in which order.

extension Planner {
    /// Finds documents in the order of their IDs.
    ///
    /// What is cheaper than reading all of them is used as well, and sorted by ID. With a limit all documents are tried
    /// first, for as many as the other way would cost.
    func planByID(_ constraint: QueryConstraint, isReversed: Bool, isLimited: Bool) throws
        -> QueryPlan
    {
        var base = try cheapest(constraint)
        if !base.path.isInOrderOfID { base.path = .union([base.path]) }
        var plan = QueryPlan(base: base, isBaseOrdered: true, isReversed: isReversed)
        if isLimited, case .union = base.path { plan.ordered = scan }
        return plan
    }

    /// Reads the rows of an index that the leading conditions leave, and no other way.
    func wayInOrder(_ index: IndexAccess, _ constraint: QueryConstraint) throws -> PricedAccess {
        let constraint = constraint.simplified
        if constraint.isNothing { return .nothing }
        return try price(index, by: constraint.conditions, of: constraint.conjuncts.count)
            ?? whole(index)
    }
}

extension PricedAccess {
    /// Whether the rows come in the order of their keys: not where some stand for values too large for a key.
    var isInKeyOrder: Bool {
        guard case .index(let access) = path else {
            if case .nothing = path { return true }
            return false
        }
        return access.fixedComponents <= access.map.components.count
    }
}
