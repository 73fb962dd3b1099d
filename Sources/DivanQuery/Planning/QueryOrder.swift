// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanPlatform

/// One property that documents are sorted by.
struct OrderKey: Hashable, Sendable {
    var path: PropertyPath
    var isDescending = false
    /// The order of values; nil for that of the query.
    var collation: Collation?
}

/// Turns what documents are sorted by into bytes that sort the same way.
///
///     component, component, …, then the ID of the document
///
/// The bytes of descending parts are inverted. Equal documents come in the order of their IDs,
/// which descends when everything does, as if an index were read backwards.
struct OrderCoder: Sendable {
    let keys: [OrderKey]
    let coder: RowKeyCoder

    /// Whether an index read backwards would give this order.
    var isReversed: Bool { !keys.isEmpty && keys.allSatisfy(\.isDescending) }

    func position(_ values: [PackedValue?], id: String) -> [UInt8] {
        var position: [UInt8] = []
        for (key, value) in zip(keys, values) {
            let start = position.count
            if let value {
                let coder =
                    key.collation.map { RowKeyCoder($0, strings: ICUCollator.root) } ?? coder
                coder.append(value, to: &position)
            } else {
                position.append(RowKeyCoder.missing)
            }
            if key.isDescending { Self.turn(&position, from: start) }
        }
        let start = position.count
        // A zero ends the ID, so that a shorter one still sorts correctly when inverted.
        position.append(contentsOf: id.utf8)
        position.append(0)
        if isReversed { Self.turn(&position, from: start) }
        return position
    }

    private static func turn(_ bytes: inout [UInt8], from start: Int) {
        for index in start..<bytes.count { bytes[index] = ~bytes[index] }
    }
}
