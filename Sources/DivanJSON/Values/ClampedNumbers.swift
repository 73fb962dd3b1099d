// SPDX-License-Identifier: Apache-2.0

// Numbers that come from outside are converted and added by these forms, and by the standard library's
// `init(clamping:)`: any number may stand in a text, an answer or a file, and none of them may end the process.
extension FixedWidthInteger {
    /// The number without its fraction, or the nearest number of the type; 0 for NaN.
    package init(clamping value: Double) {
        if let whole = Self(exactly: value.rounded(.towardZero)) {
            self = whole
        } else if value.isNaN {
            self = 0
        } else {
            self = value < 0 ? .min : .max
        }
    }

    /// The sum, or the nearest number of the type.
    package func addingSaturated(_ other: Self) -> Self {
        let (sum, isBeyond) = addingReportingOverflow(other)
        guard isBeyond else { return sum }
        return other < 0 ? .min : .max
    }

    /// The difference, or the nearest number of the type.
    package func subtractingSaturated(_ other: Self) -> Self {
        let (difference, isBeyond) = subtractingReportingOverflow(other)
        guard isBeyond else { return difference }
        return other > 0 ? .min : .max
    }

    /// The product, or the nearest number of the type.
    package func multipliedSaturated(by other: Self) -> Self {
        let (product, isBeyond) = multipliedReportingOverflow(by: other)
        guard isBeyond else { return product }
        return (self < 0) == (other < 0) ? .max : .min
    }
}
