// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON

/// Chooses how a query gets its documents.
///
/// There is no guessing: the partial reductions of an index count the rows of any range in O(log n), so
/// each way has a price in rows, and the cheapest is taken. Only where an index has the rows of a query with a limit,
/// all of them and in its order, is nothing counted.
///
///     type = "a" and (x = 1 or y > 5)         on "type"                 n rows
///                                             on "x" plus on "y"        k + m rows
///                                             all documents             N
///
/// Only how soon a limit is reached is not known beforehand. A query with an order and a limit may find its
/// documents at once by reading an index in that order, or read nearly all of it in vain. It tries, until
/// that has cost as many rows as sorting what the cheapest way gives, and then does that: see
/// ``QueryPlan``. So no plan reads more than twice the rows of the best one.
struct Planner {
    let snapshot: Snapshot
    /// The indexes that may be used, with their records in the snapshot.
    let indexes: [IndexAccess]
    let documentCount: Int
    /// The collation of the query.
    let collation: Collation
    /// The IDs of the documents that are looked at where no index serves: all, or those of a partition.
    var idRange = RowRange.all
    /// Whether deleted documents are wanted, too: they are in no index.
    var includesDeleted = false
    private let counts = PlannedCounts()

    /// The cheapest way to all documents that a condition lets through.
    func cheapest(_ constraint: QueryConstraint) throws -> PricedAccess {
        let constraint = constraint.simplified
        if constraint.isNothing { return .nothing }
        var best: PricedAccess?
        for candidate in try candidates(constraint) where candidate.rows < best?.rows ?? .max {
            best = candidate
        }
        // One document of a scan costs less than one that is looked up by a row.
        guard let best, 3 * best.rows < 2 * documentCount || best.rows == 0 else { return scan }
        return best
    }

    var scan: PricedAccess {
        PricedAccess(path: .documents(idRange), rows: documentCount, isBound: true)
    }

    /// The ways that are narrower than all documents.
    func candidates(_ constraint: QueryConstraint) throws -> [PricedAccess] {
        let conjuncts = constraint.conjuncts
        var candidates = identified(conjuncts)
        if !includesDeleted {
            for index in indexes {
                for access in try accesses(index, conjuncts) where access.rows < documentCount {
                    candidates.append(access)
                }
            }
        }
        let simple = conjuncts.filter { if case .any = $0 { false } else { true } }
        for case .any(let alternatives) in conjuncts {
            if let union = try union(alternatives, simple) { candidates.append(union) }
        }
        return candidates
    }

    /// Every alternative by its cheapest way; nil when one of them has none.
    private func union(_ alternatives: [QueryConstraint], _ rest: [QueryConstraint]) throws
        -> PricedAccess?
    {
        var paths: [AccessPath] = []
        var rows = 0
        let restSize = QueryConstraint.all(rest).size
        for alternative in alternatives {
            guard try counts.mayPlan(restSize + alternative.size) else { return nil }
            let access = try cheapest(.all(rest + [alternative]))
            if case .documents(idRange) = access.path { return nil }
            if case .nothing = access.path { continue }
            // The other conditions with alternatives were left out.
            paths.append(access.path.inexact)
            rows += access.rows
        }
        if paths.isEmpty { return .nothing }
        return PricedAccess(path: paths.count == 1 ? paths[0] : .union(paths), rows: rows)
    }

    // MARK: - IDs and times

    /// By conditions on IDs, which are the keys of the store of documents, or on times of expiration.
    private func identified(_ conjuncts: [QueryConstraint]) -> [PricedAccess] {
        conjuncts.compactMap { conjunct in
            guard case .inside(let component, let intervals) = conjunct else { return nil }
            if component == IndexComponent(.documentID) {
                return documents(KeyRanges(intervals.compactMap(\.idRange)).ranges)
            }
            guard component == IndexComponent(.expiration) else { return nil }
            let ranges = KeyRanges(intervals.compactMap(\.expirationRange)).ranges
            guard let first = ranges.first, let last = ranges.last else { return .nothing }
            return PricedAccess(
                path: .expirations(RowRange(lower: first.lower, upper: last.upper)),
                rows: documentCount / 2, isBound: true)
        }
    }

    private func documents(_ ranges: [RowRange]) -> PricedAccess? {
        let ranges = ranges.map { $0.clamped(to: idRange) }.filter { !$0.isEmpty }
        guard !ranges.isEmpty else { return .nothing }
        // A condition that narrows a partition no further.
        guard idRange == .all || ranges != [idRange] else { return nil }
        let paths = ranges.map { AccessPath.documents($0) }
        let areSingle = ranges.allSatisfy(\.isSingleKey)
        // The number of IDs in a range is not known; it is at most the number of all documents.
        return PricedAccess(
            path: paths.count == 1 ? paths[0] : .union(paths),
            rows: areSingle ? ranges.count : max(1, documentCount / 2), isBound: !areSingle)
    }

    // MARK: - Indexes

    /// The ways to use an index, with their prices: several where conditions are on elements, since
    /// different elements may fulfil them.
    private func accesses(_ index: IndexAccess, _ conjuncts: [QueryConstraint]) throws
        -> [PricedAccess]
    {
        let intervals = QueryConstraint.all(conjuncts).conditions
        let elements = intervals.filter(\.0.isOfElements)
        let properties = intervals.filter { !$0.0.isOfElements }
        guard index.map.hasElements else {
            let price = try price(index, by: properties, of: conjuncts.count)
            return [price].compactMap { $0 }
        }
        // Without a condition on elements, documents without elements would be missed.
        return try elements.filter { index.map.components.contains($0.0) }.compactMap { element in
            guard try counts.mayPlan(properties.count + element.1.count) else { return nil }
            return try price(index, by: properties + [element], of: conjuncts.count)
        }
    }

    /// The ranges that conditions leave of an index, and how many rows they have.
    ///
    /// - Parameters:
    ///   - index: The index.
    ///   - conditions: The conditions on one property each.
    ///   - count: How many conditions there are, of all kinds.
    /// - Returns: The way; nil when no condition is on the first property.
    /// - Throws: `StorageError`, `IndexCorruption`.
    func price(
        _ index: IndexAccess, by conditions: [(IndexComponent, [ValueInterval])], of count: Int
    ) throws -> PricedAccess? {
        guard var access = narrowed(index, by: conditions, of: count) else { return nil }
        if try hasUnindexable(index) {
            access.ranges.insert(Self.unindexable, at: 0)
            access.fixedComponents = .max
        }
        var rows = 0
        counts.charge(access.ranges.count)
        for range in access.ranges { rows += try self.count(range, of: access) }
        return PricedAccess(path: .index(access), rows: rows)
    }

    /// The ranges that conditions leave of an index; nil when no condition is on the first property.
    func narrowed(
        _ index: IndexAccess, by conditions: [(IndexComponent, [ValueInterval])], of count: Int
    ) -> IndexAccess? {
        let translated = conditions.map { component, intervals in
            // IDs compare by their bytes in every query. Types have the order of the query: texts come last in `.raw` alone.
            let bytes: Collation = collation == .raw ? .raw : .ascii
            let own = component == IndexComponent(.documentID) ? bytes : collation
            return (component, intervals.translated(from: own, to: index.map.order))
        }
        let narrowing = KeyNarrowing(index, translated.map { ($0.0, $0.1.intervals) })
        guard var access = narrowing.access else { return nil }
        access.isExact =
            narrowing.used == count && translated.allSatisfy(\.1.isExact)
            && !index.map.hasElements && index.map.index.filter == nil
        return access
    }

    // MARK: - Counts

    private static let unindexable = RowRange(prefix: [RowKeyCoder.unindexable])

    /// Whether an index has rows that stand for a value too large for a key: they come before all others.
    func hasUnindexable(_ index: IndexAccess) throws -> Bool {
        let notes = snapshot.indexNotes
        if let isKnown = notes.hasUnindexable[index.record.number] { return isKnown }
        var isFound = false
        try snapshot.reader(of: index.record).forEachRow(in: Self.unindexable) { _, _ in
            isFound = true
            return false
        }
        notes.hasUnindexable[index.record.number] = isFound
        return isFound
    }

    /// The number of rows in a range, counted once a plan.
    func count(_ range: RowRange, of index: IndexAccess) throws -> Int {
        let key = PlannedCounts.Key(number: index.record.number, range: range)
        if let known = counts.known[key] { return known }
        let count = try snapshot.reader(of: index.record).count(in: range)
        counts.known[key] = count
        return count
    }
}

/// What a plan has asked of indexes: how many rows their ranges have; and how much it may still ask. Only the thread that
/// makes the plan uses it.
private final class PlannedCounts {
    struct Key: Hashable {
        /// The number of the index.
        var number: UInt64
        var range: RowRange
    }

    var known: [Key: Int] = [:]
    /// How many values and ranges may still be looked at for the sake of alternatives: each of these looks at those of the
    /// other conditions, too. A query of thousands of each is answered by the ways that were found until then.
    private var left = 200_000

    /// Whether some more values may be looked at.
    ///
    /// - Throws: `CancellationError`, if the query is cancelled.
    func mayPlan(_ count: Int) throws -> Bool {
        try CancellationFlag.check()
        charge(count)
        return left > 0
    }

    /// Notes ranges that are kept and counted.
    func charge(_ count: Int) { left = left.subtractingSaturated(count) }
}

/// Narrows an index down by conditions on its components, one after the other.
private struct KeyNarrowing {
    /// The most ranges that are made of combinations of values.
    private static let mostPrefixes = 1_000

    /// nil when no condition is on the first component.
    private(set) var access: IndexAccess?
    /// How many conditions the ranges take into account.
    private(set) var used = 0

    init(_ index: IndexAccess, _ conditions: [(IndexComponent, [ValueInterval])]) {
        let coder = index.map.coder
        var prefixes: [[UInt8]] = [[]]
        var fixed = 0
        var isNarrowed = false
        var ranges: [RowRange]?
        for component in index.map.components {
            let here = conditions.filter { $0.0 == component }.map(\.1)
            guard !here.isEmpty else { break }
            isNarrowed = true
            used += here.count
            if here.count == 1, let points = Self.points(here[0], coder),
                points.count * prefixes.count <= Self.mostPrefixes
            {
                if points.count == 1, prefixes.count == 1 { fixed += 1 }
                prefixes = prefixes.flatMap { prefix in points.map { prefix + $0 } }
                continue
            }
            let common = here.map { coder.ranges(of: $0) }
            var inside = KeyRanges.common(to: common[...])
            if prefixes.count > 1, prefixes.count * inside.ranges.count > Self.mostPrefixes {
                // A document may lie between the ranges.
                inside = inside.span
                used -= here.count
            }
            ranges = prefixes.flatMap { inside.following($0) }
            break
        }
        guard isNarrowed else { return }
        var access = index
        access.ranges = KeyRanges(ranges ?? prefixes.map { RowRange(prefix: $0) }).ranges
        access.fixedComponents = fixed
        self.access = access
    }

    /// The bytes of each value, when intervals are of single values only.
    private static func points(_ intervals: [ValueInterval], _ coder: RowKeyCoder) -> [[UInt8]]? {
        var points = Set<[UInt8]>()
        for interval in intervals {
            guard let point = coder.point(interval) else { return nil }
            points.insert(point)
        }
        return points.sorted { $0.precedes($1) }
    }
}
