// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// How the work of something grows with its size.
///
/// ```swift
/// let factor = Growth.ofEightTimes(1_000) { size in work(size) }
/// #expect(factor < Growth.most)      // in proportion it is 8, and 64 where each item looks at all others
/// ```
///
/// It is measured by the processor's time of this thread, so that other threads and a busy machine count for little.
public enum Growth {
    /// Between growing in proportion and growing by the square, with room for chance on both sides.
    public static let most = 30.0

    /// Returns how many times longer something takes that is eight times as large, by the quickest of three runs of each.
    public static func ofEightTimes(_ size: Int, _ body: (Int) throws -> Void) rethrows -> Double {
        let small = try quickest { try body(size) }
        let large = try quickest { try body(8 * size) }
        return large / max(small, 1e-6)
    }

    private static func quickest(_ body: () throws -> Void) rethrows -> Double {
        var best = Double.infinity
        for _ in 0..<3 {
            let start = seconds
            try body()
            best = min(best, seconds - start)
        }
        return best
    }

    /// What this thread has worked.
    private static var seconds: Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }
}
