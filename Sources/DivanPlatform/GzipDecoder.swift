// SPDX-License-Identifier: Apache-2.0

internal import CZlib

/// Decodes gzip piece by piece, by zlib.
///
/// ```swift
/// let decoder = GzipDecoder()
/// for piece in pieces { try decoder.decode(piece.span) { output.append(contentsOf: $0) } }
/// guard decoder.isAtEnd else { throw … }      // the input ended too early
/// ```
///
/// Output comes in pieces of at most 64 kB, however well the input was packed, so a small input that
/// decodes to much costs no memory. One thread uses a decoder at a time.
@safe
public final class GzipDecoder {
    /// The input is not gzip, or damaged.
    public struct Failure: Error {}

    private static let pieceSize = 64 * 1_024
    private let inflater: OpaquePointer

    /// Whether the input so far is whole: one or more finished gzip streams.
    public private(set) var isAtEnd = false

    /// Makes a decoder at the start of its input.
    public init() {
        guard let made = unsafe divan_inflater_create() else {
            preconditionFailure("There is no memory for a gzip decoder.")
        }
        unsafe inflater = unsafe made
    }

    deinit { unsafe divan_inflater_free(inflater) }

    /// Decodes the next piece of input.
    ///
    /// - Parameters:
    ///   - input: The piece.
    ///   - output: Gets what it decodes to, in pieces; may stop the work by throwing.
    /// - Throws: ``Failure``, and what `output` throws.
    public func decode(_ input: Span<UInt8>, _ output: ([UInt8]) throws -> Void) throws {
        var position = 0
        while true {
            let step = decodeStep(input, from: position)
            position += step.taken
            if !step.output.isEmpty { try output(step.output) }
            if step.isDamaged { throw Failure() }
            // A full piece of output may not be all that this input gives.
            if position == input.count && step.output.count < Self.pieceSize { return }
            if step.taken == 0 && step.output.isEmpty { return }
        }
    }

    private func decodeStep(_ input: Span<UInt8>, from position: Int) -> (
        taken: Int, output: [UInt8], isDamaged: Bool
    ) {
        var taken = 0
        var isDamaged = false
        // SAFETY: zlib reads within the rest of the input and writes within the capacity; exactly what
        // it says it made counts as initialised.
        let output = unsafe input.withUnsafeBufferPointer { input in
            unsafe [UInt8](unsafeUninitializedCapacity: Self.pieceSize) { buffer, made in
                let rest = unsafe UnsafeBufferPointer(rebasing: input[position...])
                let result = unsafe divan_inflate(
                    inflater, rest.baseAddress, rest.count, &taken, buffer.baseAddress,
                    buffer.count, &made)
                isDamaged = result == DIVAN_INFLATE_DAMAGED
                if result == DIVAN_INFLATE_END {
                    isAtEnd = true
                } else if taken > 0 {
                    isAtEnd = false
                }
            }
        }
        return (taken, output, isDamaged)
    }
}
