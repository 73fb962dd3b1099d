// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON

/// How a query is run: a way to its documents, and what is left to be done with their order.
///
///     base       the cheapest way; its documents are sorted afterwards if an order is wanted
///     ordered    a way that gives the wanted order, at whose end nothing need be sorted
///
/// With an order and a limit both may be there, and `ordered` is tried first for as many rows as `base` would
/// cost. Whichever estimate is right about the limit, at most twice the rows of the better one are read.
struct QueryPlan: Sendable {
    var base: PricedAccess
    var ordered: PricedAccess?
    /// Whether `base` gives the wanted order by itself.
    var isBaseOrdered: Bool
    /// Whether rows of indexes, or IDs, are read backwards for the order.
    var isReversed = false
    /// The ways that were looked at, and their prices.
    var considered: [PricedAccess] = []
}

extension Planner {
    /// Chooses how to run a query.
    ///
    /// - Parameters:
    ///   - constraint: What must hold of its documents.
    ///   - order: What they are sorted by; empty for any order.
    ///   - isLimited: Whether only so many of the first are wanted.
    /// - Returns: The plan.
    /// - Throws: `StorageError`, `IndexCorruption`, `DatabaseError`.
    func plan(_ constraint: QueryConstraint, order: [OrderKey], isLimited: Bool) throws -> QueryPlan
    {
        let constraint = constraint.simplified
        let base = try cheapest(constraint)
        var plan = QueryPlan(base: base, isBaseOrdered: order.isEmpty)
        plan.considered = constraint.isNothing ? [] : try candidates(constraint) + [scan]
        guard !order.isEmpty else { return plan }
        let isDescending = order[0].isDescending
        // Without an order there is nothing more to plan.
        guard base.rows > 0, order.allSatisfy({ $0.isDescending == isDescending }),
            order.allSatisfy({ isInOrderOfQuery($0, constraint) })
        else { return plan }
        plan.isReversed = isDescending
        if order.map(\.path) == [.documentID], base.path.isInOrderOfID {
            plan.isBaseOrdered = true
            return plan
        }
        guard let ordered = try orderedAccess(constraint, order.map(\.path)) else { return plan }
        plan.considered.append(ordered)
        // At the same price, a way without sorting is better.
        if ordered.rows <= base.rows {
            plan.base = ordered
            plan.isBaseOrdered = true
        } else if isLimited {
            plan.ordered = ordered
        }
        return plan
    }

    /// The cheapest way that gives an order.
    private func orderedAccess(_ constraint: QueryConstraint, _ order: [PropertyPath]) throws
        -> PricedAccess?
    {
        if order == [.documentID] { return scan }
        var best: PricedAccess?
        for index in indexes where !includesDeleted && !index.map.hasElements {
            let candidate =
                try price(
                    index, by: constraint.conditions, of: constraint.conjuncts.count)
                ?? whole(index)
            guard candidate.rows < best?.rows ?? .max, gives(order, constraint, candidate)
            else { continue }
            best = candidate
        }
        return best
    }

    func whole(_ index: IndexAccess) throws -> PricedAccess {
        var access = index
        access.ranges = [.all]
        if try hasUnindexable(index) { access.fixedComponents = .max }
        return PricedAccess(path: .index(access), rows: try count(.all, of: index))
    }

    /// A way whose first rows are what is wanted, in order: no other one can read fewer, so nothing is counted.
    ///
    /// - Parameters:
    ///   - constraint: What a document must fulfil, and nothing else.
    ///   - order: What the documents are sorted by.
    ///   - isCounted: Whether to tell the prices of this way and of others nevertheless.
    /// - Returns: The plan; nil where no index is such a way.
    /// - Throws: `StorageError`, `IndexCorruption`.
    func firstRowsPlan(_ constraint: QueryConstraint, order: [OrderKey], isCounted: Bool) throws
        -> QueryPlan?
    {
        let constraint = constraint.simplified
        guard let first = order.first, !includesDeleted, !constraint.isNothing,
            order.allSatisfy({ key in
                key.isDescending == first.isDescending && isInOrderOfQuery(key, constraint)
            })
        else { return nil }
        let (conditions, count) = (constraint.conditions, constraint.conjuncts.count)
        for index in indexes where !index.map.hasElements && index.map.index.filter == nil {
            var access = narrowed(index, by: conditions, of: count)
            if count == 0 {
                access = index
                access?.isExact = true
            }
            guard let access, access.isExact else { continue }
            var way = PricedAccess(path: .index(access), rows: 0)
            guard gives(order.map(\.path), constraint, way), try !hasUnindexable(index) else {
                continue
            }
            var plan = QueryPlan(base: way, isBaseOrdered: true, isReversed: first.isDescending)
            if isCounted {
                for range in access.ranges { way.rows += try self.count(range, of: access) }
                plan.base = way
                plan.considered = try candidates(constraint) + [scan]
            }
            return plan
        }
        return nil
    }

    /// Whether rows come in an order: behind the components that are the same in all of them, the
    /// next ones must be what is sorted by, and the last ones. In another collation only numbers are in order.
    private func gives(
        _ order: [PropertyPath], _ constraint: QueryConstraint, _ candidate: PricedAccess
    ) -> Bool {
        guard case .index(let access) = candidate.path,
            access.fixedComponents <= access.map.components.count
        else { return false }
        let fixed = access.map.components.prefix(access.fixedComponents).map(\.path)
        let rest = access.map.components.dropFirst(access.fixedComponents).map(\.path)
        return rest == order.filter { !fixed.contains($0) }
            && rest.allSatisfy { path in
                // An index may have IDs among its texts, in its own order.
                path == .documentID
                    ? access.map.coder.comparesBytes
                    : access.map.order == collation || constraint.hasNumbersOnly(path)
            }
    }

    /// Whether values are sorted as the query compares them, or IDs, which compare by their bytes in every query.
    private func isInOrderOfQuery(_ key: OrderKey, _ constraint: QueryConstraint) -> Bool {
        key.collation == nil || key.collation == collation || key.path == .documentID
            || constraint.hasNumbersOnly(key.path)
    }
}

extension AccessPath {
    /// Whether documents come in the order of their IDs.
    var isInOrderOfID: Bool {
        switch self {
        case .nothing, .documents, .union: true
        case .index(let access): access.mayRepeat
        case .expirations: false
        }
    }
}
