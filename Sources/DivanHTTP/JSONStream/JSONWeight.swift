// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// What a JSON text takes of memory when it is parsed, by its `JSONMeasure`.
package struct JSONWeight: Sendable {
    /// What a byte of text takes at most: itself, the parser's two buffers of twice the length, and the packed form.
    static let byteCost = 8
    /// What a text becomes.
    package enum Form: String, Sendable, CaseIterable {
        /// A packed value.
        case packed
        /// A tree of values.
        case values
        /// A tree of values, and the selector that is made of it.
        case selector

        /// What a value takes at most beside its text, in bytes; `ParsingWeightTests` measures it.
        package var valueCost: Int {
            switch self {
            // Some sixty bytes where the parser has to build values.
            case .packed: 96
            // The place of an object's member in an array that has just grown, its key, and its place in the table of keys.
            case .values: 256
            // The same, and its part of a selector.
            case .selector: 768
            }
        }
    }

    /// What a text of so many bytes and values takes at most to become this, in bytes.
    package static func cost(bytes: Int, values: Int, as form: Form) -> Int {
        byteCost.multipliedSaturated(by: bytes)
            .addingSaturated(form.valueCost.multipliedSaturated(by: values))
    }

    /// The bytes of the text.
    package let bytes: Int
    /// At least the number of values in it.
    package let values: Int

    /// Weighs a text.
    package init(_ text: Span<UInt8>) {
        var measure = JSONMeasure()
        measure.add(text)
        (bytes, values) = (measure.bytes, measure.values)
    }

    /// What parsing the text into the packed form takes at most, in bytes.
    package var packedCost: Int { Self.cost(bytes: bytes, values: values, as: .packed) }
}
