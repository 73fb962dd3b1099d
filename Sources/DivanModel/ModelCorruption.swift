// SPDX-License-Identifier: Apache-2.0

/// Bytes that do not hold what their decoder expected.
///
/// Decoders in this module read bytes that may have been damaged. They answer damage with this
/// error, never with a trap, a hang or an unbounded allocation.
public struct ModelCorruption: Error, Sendable, Equatable, CustomStringConvertible {
    /// Where reading stopped, counted from the first byte of the span given to the decoder.
    public var offset: Int

    /// What should have stood there, as the end of the sentence "expected …".
    public var expectation: String

    /// Describes damage found at `offset`.
    ///
    /// - Parameters:
    ///   - offset: Where reading stopped.
    ///   - expectation: What should have stood there.
    public init(offset: Int, expectation: String) {
        self.offset = offset
        self.expectation = expectation
    }

    /// One sentence with the place and the expectation.
    public var description: String {
        "Damaged bytes at offset \(offset): expected \(expectation)."
    }
}
