// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// A selector as it is looked at: conditions on paths, put together by *all* and *any*.
///
/// Negations have been carried down to the conditions when it was read, as in CouchDB:
///
///     {"$not": {"a": {"$lt": 5}}}                  a $gte 5
///     {"$nor": [{"a": 1}, {"b": {"$in": [2]}}]}    all of  a $ne 1,  b $nin [2]
///
/// So a document without a property fulfils no condition on it, negated or not, except
/// `{"$exists": false}`.
indirect enum SelectorNode: Sendable {
    /// Each of them; true when there are none.
    case all([SelectorNode])
    /// One of them at least.
    case any([SelectorNode])
    /// A condition on what a path leads to; on the value itself for the empty path.
    case field(PropertyPath, SelectorCondition)
}

/// What a selector wants of one value that is there.
indirect enum SelectorCondition: Sendable {
    case not(SelectorCondition)
    case less(SelectorOperand)
    case lessOrEqual(SelectorOperand)
    case equal(SelectorOperand)
    case notEqual(SelectorOperand)
    case greaterOrEqual(SelectorOperand)
    case greater(SelectorOperand)
    case oneOf(SelectorOperands)
    case noneOf(SelectorOperands)
    case exists(Bool)
    case type(String)
    case remainder(divisor: Int64, remainder: Int64)
    case pattern(any TextPattern)
    case beginsWith([UInt8])
    case size(Int)
    case containsAll(SelectorOperands)
    /// Some element.
    case anyElement(SelectorNode)
    /// Each element, of which there is one at least.
    case eachElement(SelectorNode)
    /// Some key of an object.
    case anyKey(SelectorNode)
}

/// A value that a selector compares with.
struct SelectorOperand: Sendable {
    let value: JSONValue
    let packed: PackedValue

    init(_ value: JSONValue) {
        self.value = value
        packed = PackedValue(value)
    }
}
