// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanPlatform

/// Reads the operators that look at one value, each with what its argument must be.
struct SelectorOperators {
    let parser: SelectorParser

    typealias Context = SelectorParser.Context

    func condition(_ name: String, _ value: JSONValue, _ context: Context) throws
        -> SelectorCondition
    {
        if let comparison = comparison(name, value) { return comparison }
        switch name {
        case "$in": return .oneOf(try operands(value, context))
        case "$nin": return .noneOf(try operands(value, context))
        case "$all": return .containsAll(try operands(value, context))
        case "$exists":
            guard let isWanted = value.bool else { throw context.wants("true or false") }
            return .exists(isWanted)
        case "$type":
            guard let type = value.string, Self.types.contains(type) else {
                throw context.wants("one of \(Self.types.joined(separator: ", "))")
            }
            return .type(type)
        case "$size":
            guard let size = value.uint64, size <= Int.max else {
                throw context.wants("an integer of 0 or more")
            }
            return .size(Int(size))
        case "$mod": return try remainder(value, context)
        case "$regex":
            // Nothing occurs in every string; ICU has no such expression.
            return value == "" ? .beginsWith([]) : .pattern(try pattern(value, context))
        case "$beginsWith":
            guard let prefix = value.string else { throw context.wants("a string") }
            return .beginsWith(Array(prefix.utf8))
        case "$elemMatch": return .anyElement(try inner(value, context))
        case "$allMatch": return .eachElement(try inner(value, context))
        case "$keyMapMatch": return .anyKey(try inner(value, context))
        default:
            throw DatabaseError.selector(
                "The selector's operator '\(context.place.text)' is unknown.")
        }
    }

    private static let types = ["null", "boolean", "number", "string", "array", "object"]

    private func comparison(_ name: String, _ value: JSONValue) -> SelectorCondition? {
        switch name {
        case "$lt": .less(SelectorOperand(value))
        case "$lte": .lessOrEqual(SelectorOperand(value))
        case "$eq": .equal(SelectorOperand(value))
        case "$ne": .notEqual(SelectorOperand(value))
        case "$gte": .greaterOrEqual(SelectorOperand(value))
        case "$gt": .greater(SelectorOperand(value))
        default: nil
        }
    }

    private func operands(_ value: JSONValue, _ context: Context) throws -> SelectorOperands {
        guard case .array(let items) = value else { throw context.wants("an array") }
        return SelectorOperands(items.map { SelectorOperand($0) })
    }

    private func remainder(_ value: JSONValue, _ context: Context) throws -> SelectorCondition {
        guard case .array(let items) = value, items.count == 2, let divisor = items[0].int64,
            let remainder = items[1].int64, divisor != 0
        else { throw context.wants("a divisor, which is not 0, and a remainder, both integers") }
        return .remainder(divisor: divisor, remainder: remainder)
    }

    private func pattern(_ value: JSONValue, _ context: Context) throws -> any TextPattern {
        guard let text = value.string else { throw context.wants("a string") }
        do throws(ICUPattern.Failure) {
            return try ICUPattern(text)
        } catch {
            throw DatabaseError.selector(
                error.isTooLong
                    ? "The selector's operator '\(context.place.text)': \(error.description)"
                    : "The selector's operator '\(context.place.text)' wants a regular expression.",
                error)
        }
    }

    /// A selector for elements or keys, which begins anew: its paths begin at the element.
    private func inner(_ value: JSONValue, _ context: Context) throws -> SelectorNode {
        guard case .object(let object) = value else { throw context.wants("an object") }
        return try parser.node(object, Context(hasSubject: true, place: context.place))
    }
}
