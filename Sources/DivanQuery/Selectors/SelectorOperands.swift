// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanPlatform

/// The values of `$in`, `$nin` and `$all`.
///
/// Of many values, one is found by its row key, whose bytes are the same for equal values: a request may have thousands of
/// values, and a document an array of thousands of elements.
struct SelectorOperands: Sendable {
    /// So many values are compared one after the other.
    private static let mostCompared = 8
    private static let coder = RowKeyCoder(.ascii, strings: ICUCollator.root)

    let list: [SelectorOperand]
    /// Their row keys; nil for few.
    private let keys: Set<[UInt8]>?

    init(_ list: [SelectorOperand]) {
        self.list = list
        keys = list.count > Self.mostCompared ? Set(list.map { Self.key(of: $0.packed) }) : nil
    }

    /// Whether a value, or one of the elements of an array, is one of these.
    func hasOne(of value: PackedValue) -> Bool {
        value.kind == .array ? value.containsElement(contains) : contains(value)
    }

    /// Whether an array has each of these as an element, or is the one array that is wanted.
    func areAll(in value: PackedValue) -> Bool {
        guard value.kind == .array, let first = list.first else { return false }
        if list.count == 1, first.packed.kind == .array, first.isEqual(to: value) { return true }
        guard let keys else {
            return list.allSatisfy { operand in value.containsElement(operand.isEqual(to:)) }
        }
        // No two are equal.
        guard value.count >= keys.count else { return false }
        var missing = keys
        return value.containsElement { element in
            missing.remove(Self.key(of: element))
            return missing.isEmpty
        }
    }

    private func contains(_ value: PackedValue) -> Bool {
        keys.map { $0.contains(Self.key(of: value)) } ?? list.contains { $0.isEqual(to: value) }
    }

    private static func key(of value: PackedValue) -> [UInt8] {
        var key: [UInt8] = []
        coder.append(value, to: &key)
        return key
    }
}

extension SelectorOperand {
    /// Equality is exact for strings in every order, and does not see how a number is written.
    func isEqual(to value: PackedValue) -> Bool {
        SelectorOrder.bytes.collate(value, packed) == 0
    }
}
