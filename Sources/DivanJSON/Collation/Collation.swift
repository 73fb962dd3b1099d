// SPDX-License-Identifier: Apache-2.0

/// A total order of JSON values: which of two view keys comes first.
///
/// Indexes are sorted by a collation, and every range, group and `orderBy` is a question about it.
/// There are three. They differ in how types follow one another and in how strings compare:
///
///     .unicode   null < false < true < numbers < strings < arrays < objects   strings by language
///     .ascii     null < false < true < numbers < strings < arrays < objects   strings by bytes
///     .raw       numbers < false < null < true < objects < arrays < strings   strings by bytes
///
/// This type only names the order. ``ValueOrder`` compares values by it, and ``RowKeyCoder`` turns
/// a value into bytes that sort by it; the two always agree.
///
/// ## A worked example
///
/// Sorted by `.unicode`, with the reason why each stands after the one before:
///
///     null
///     false               another type
///     -1                  another type
///     1
///     1.0                 the same number; integers before doubles
///     9007199254740993    2^53 + 1: compared exactly, though no double equals it
///     ""                  another type
///     "~"                 symbols before digits, digits before letters
///     "a"
///     "A"                 the same letter; lower case first
///     "á"                 the same letter; plain before accented
///     "ab"                a longer word, whatever the case and accents before
///     ["a"]               another type
///     ["a", null]         the same beginning; shorter first
///     ["b"]
///     {}                  another type: sorts after every array, so it ends a range of arrays
///     {"a": 2}
///     {"b": 1}            keys decide before values
///
/// ## Terms
///
/// - *Tie*: two different values that the order of people does not tell apart: `1` and `1.0`, or
///   `é` in one scalar and in two.
/// - *Collate as equal*: what a query by key asks, and what row keys are equal by. Ties of numbers are
///   equal, ties of strings not.
/// - *Exact order*: the collation with every tie broken, so that only identical values are equal.
///
/// ## Invariants
///
/// They are rules of two or three values. `CollationRowKeyTests` show the first with random values, `CollationOrderTests` the
/// second, `CollationRuleTests` the others.
///
/// 1. The exact order is total: of two values exactly one of `<`, `==`, `>` holds, and `==` holds
///    only for identical values (objects: whatever the order of their keys).
/// 2. Numbers compare by their exact value, whatever their representation: a 64-bit integer is
///    never rounded to a double.
/// 3. `.unicode` strings compare by base letters over their whole length, then by accents, then by
///    case (ICU's root collation, CouchDB's order), and ties by their UTF-8 bytes.
/// 4. Arrays compare item by item, and a shorter one sorts before its continuations.
/// 5. Objects compare as arrays of their pairs, sorted by key (UTF-16 code units, as stored): key,
///    then value, pair by pair. CouchDB does the same in the order the keys were written in; that
///    order is not kept here, since two equal documents must have equal keys.
/// 6. Ties of numbers are broken last, when the whole values are otherwise equal: `[1.0, "a"]` sorts
///    before `[1, "b"]`. The first number that is written in two ways decides: integer, then -0.0, then
///    double, then kept digits by their text.
/// 7. Ties of strings are broken where they are met, since there they are differences.
///
/// ## What it does not do
///
/// It knows no locale: `ä` sorts beside `a` in Sweden too, since a database must sort the same on
/// each device that it is copied to. `docs/collation.md` lists where Couchbase Lite 1.x differs.
public enum Collation: String, Sendable, Hashable, CaseIterable {
    /// Types in CouchDB's order, strings by the Unicode root collation. The default of views.
    case unicode

    /// Types in the order of Couchbase Lite's raw collation, strings by bytes.
    case raw

    /// Types in CouchDB's order, strings by bytes.
    case ascii
}

extension Collation {
    /// The place of a type in the raw collation.
    private func rawRank(of type: ValueType) -> UInt8 {
        switch type {
        case .number: 1
        case .false: 2
        case .null: 3
        case .true: 4
        case .object: 5
        case .array: 6
        case .string: 7
        }
    }

    /// The place of a type among the types, from 1.
    package func rank(of type: ValueType) -> UInt8 {
        self == .raw ? rawRank(of: type) : type.rawValue
    }

    /// The type at a place among the types, or nil beyond the last.
    func type(ofRank rank: UInt8) -> ValueType? {
        guard self == .raw else { return ValueType(rawValue: rank) }
        return switch rank {
        case 1: .number
        case 2: .false
        case 3: .null
        case 4: .true
        case 5: .object
        case 6: .array
        case 7: .string
        default: nil
        }
    }
}
