// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import DivanJSON

/// Conversions and sums for numbers that may be anything.
@Suite struct ClampedNumbersTests {
    @Test(
        arguments: [
            (0, 0), (-0.0, 0), (1.9, 1), (-1.9, -1), (1e-300, 0),
            (9_007_199_254_740_994, 9_007_199_254_740_994),
            (9.3e18, .max), (-9.3e18, .min), (1e300, .max), (-1e300, .min), (.infinity, .max),
            (-.infinity, .min), (.nan, 0), (0x1p63, .max), (-0x1p63, .min),
        ] as [(Double, Int64)])
    func `a double becomes the nearest integer that there is`(double: Double, integer: Int64) {
        #expect(Int64(clamping: double) == integer)
        #expect(
            UInt64(clamping: double)
                == (double > 1e19
                    ? .max : double >= 0x1p63 ? UInt64(double) : UInt64(clamping: integer)))
        #expect(Int32(clamping: double) == Int32(clamping: integer))
    }

    @Test func `sums, differences and products end at the last number`() {
        #expect(Int64.max.addingSaturated(1) == .max)
        #expect(Int64.min.addingSaturated(-1) == .min)
        #expect(Int64.min.addingSaturated(.max) == -1)
        #expect(Int64(2).addingSaturated(3) == 5)
        #expect(Int64.min.subtractingSaturated(1) == .min)
        #expect(Int64.max.subtractingSaturated(.min) == .max)
        #expect(UInt64(3).subtractingSaturated(5) == 0)
        #expect(UInt64.max.addingSaturated(1) == .max)
        #expect(Int64.max.multipliedSaturated(by: 2) == .max)
        #expect(Int64.max.multipliedSaturated(by: -2) == .min)
        #expect(Int64.min.multipliedSaturated(by: -1) == .max)
        #expect(UInt64.max.multipliedSaturated(by: 2) == .max)
        #expect(Int64(-6).multipliedSaturated(by: 7) == -42)
    }
}
