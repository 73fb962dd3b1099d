// SPDX-License-Identifier: Apache-2.0

/// A type as collations see it: the booleans are two types, all numbers are one.
///
/// The raw values are the places of the types in CouchDB's order.
package enum ValueType: UInt8, CaseIterable, Sendable {
    case null = 1
    case `false`, `true`, number, string, array, object
}

extension JSONValue {
    /// The type that decides the value's place before its content does.
    package var collationType: ValueType {
        switch self {
        case .null: .null
        case .bool(false): .false
        case .bool(true): .true
        case .integer, .unsigned, .double, .number: .number
        case .string: .string
        case .array: .array
        case .object: .object
        }
    }
}

extension PackedReader {
    /// The type that decides a packed value's place before its content does.
    @inline(__always)
    func collationType(of node: PackedNode) -> ValueType {
        if node.isString { return .string }
        if node.isArray { return .array }
        if node.isObject { return .object }
        return switch node.tag {
        case PackedTag.null: .null
        case PackedTag.false: .false
        case PackedTag.true: .true
        default: .number
        }
    }
}
