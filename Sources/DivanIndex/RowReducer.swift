// SPDX-License-Identifier: Apache-2.0

package import DivanJSON
internal import DivanStorage

/// Folds the rows of an index into one value, in steps.
///
/// An index keeps the results of the steps, so a reducer must give the same value however the rows
/// are cut into steps: `rereduce` of the values of the pieces equals `reduce` of the whole. At most
/// ``Partials/largestStep`` values are handed over at once.
package protocol RowReducer: Sendable {
    /// Folds rows.
    ///
    /// - Parameters:
    ///   - keys: The whole keys of the rows: see ``RowKey``. None unless ``readsKeys``.
    ///   - values: The emitted values, as many as keys.
    /// - Returns: The value that stands for all of them.
    /// - Throws: An error whose text is kept and thrown by every query that has one of these rows;
    ///   ``InterruptedReduction`` when there is no result now, and may be one another time.
    func reduce(keys: [[UInt8]], values: [PackedValue]) throws -> PackedValue

    /// Folds values that ``reduce(keys:values:)`` or this function gave, in the order of their rows.
    func rereduce(_ values: [PackedValue]) throws -> PackedValue

    /// Whether it looks at keys. If not, none are copied for it.
    var readsKeys: Bool { get }
}

extension RowReducer {
    /// Most functions may look at keys.
    package var readsKeys: Bool { true }
}

/// A reducer that only adds, as far as it is given integers.
///
/// When a row changes, the nodes above it change by the difference, and none of their other rows is
/// read. For that the reduced value must follow from the exact total, whatever the steps.
package protocol AddingReducer: RowReducer {
    /// What a value adds to the total.
    ///
    /// - Parameters:
    ///   - value: The value of a row, or a reduced one.
    ///   - isReduced: Whether it is a reduced value.
    /// - Returns: The integer; nil when the value is not added as one.
    func addend(of value: PackedValue, isReduced: Bool) -> Int128?

    /// The reduced value of a total: what `reduce` and `rereduce` give for its rows, byte for byte.
    func reduced(total: Int128) -> PackedValue
}

/// A reducer could not do its work this time: nothing is kept of that, and what asked it fails.
package struct InterruptedReduction: Error {
    /// Why.
    package var cause: any Error

    /// Makes one.
    package init(_ cause: any Error) { self.cause = cause }
}

/// What a reducer threw, kept in place of a value.
package struct ReductionFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// The text of the error.
    package var description: String

    /// Keeps the text of an error.
    package init(_ description: String) { self.description = description }
}

/// Collects values and folds them whenever there are enough for a step.
struct Reduction {
    private let reducer: any RowReducer
    private let readsKeys: Bool
    private var keys: [[UInt8]] = []
    private var values: [PackedValue] = []
    private var partials: [PackedValue] = []
    private var failure: ReductionFailure?
    private var interruption: InterruptedReduction?

    init(_ reducer: any RowReducer) {
        self.reducer = reducer
        readsKeys = reducer.readsKeys
    }

    /// Adds a row.
    mutating func add(key: Span<UInt8>, value: PackedValue) {
        guard !isOver else { return }
        if readsKeys { keys.append([UInt8](copying: key)) }
        values.append(value)
        if values.count == Partials.largestStep { foldRows() }
    }

    /// Adds a value that stands for several rows.
    mutating func add(_ partial: Partials.Node.Reduced) {
        switch partial {
        case .none: break
        case .failure(let failure): self.failure = self.failure ?? failure
        case .value(let value):
            guard !isOver else { return }
            // Rows collected before come before it.
            foldRows()
            append(value)
        }
    }

    /// Whether nothing more needs to be folded.
    private var isOver: Bool { failure != nil || interruption != nil }

    /// Folds what is left; `.none` when nothing was added.
    ///
    /// - Throws: `InterruptedReduction`.
    mutating func finish() throws(InterruptedReduction) -> Partials.Node.Reduced {
        foldRows()
        if partials.count > 1 { foldPartials() }
        if let interruption { throw interruption }
        if let failure { return .failure(failure) }
        return partials.first.map { .value($0) } ?? .none
    }

    private mutating func foldRows() {
        guard !values.isEmpty, !isOver else { return }
        defer {
            keys.removeAll(keepingCapacity: true)
            values.removeAll(keepingCapacity: true)
        }
        do { append(try reducer.reduce(keys: keys, values: values)) } catch { note(error) }
    }

    private mutating func append(_ partial: PackedValue) {
        partials.append(partial)
        if partials.count == Partials.largestStep { foldPartials() }
    }

    private mutating func foldPartials() {
        guard !isOver else { return }
        do { partials = [try reducer.rereduce(partials)] } catch { note(error) }
    }

    private mutating func note(_ error: any Error) {
        if let error = error as? InterruptedReduction {
            interruption = error
        } else {
            failure = ReductionFailure("\(error)")
        }
    }
}
