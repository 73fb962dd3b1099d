// SPDX-License-Identifier: Apache-2.0

internal import CZlib

/// Decodes the gzip coding of a message piece by piece, within limits.
///
/// ```swift
/// let inflater = GzipInflater()
/// inflater.push(bytes)
/// while let piece = try inflater.next() { use(piece) }     // at most 64 kB each
/// try inflater.finish()
/// ```
///
/// A piece is decoded only when it is asked for, so a caller that stops asking holds no decoded bytes, however well
/// they were packed. Beyond ``Limits/freeBytes`` the output may be at most ``Limits/ratio`` times the input:
/// honest JSON stays far below it, and a gzip bomb does not. One task uses an inflater at a time.
@safe
package final class GzipInflater {
    /// Why bytes cannot be decoded.
    package enum Failure: Error, Equatable {
        /// They are no gzip, or damaged.
        case damaged
        /// They ended too early.
        case truncated
        /// They decode to more than allowed.
        case tooLarge
    }

    /// How much may come out.
    package struct Limits: Sendable {
        /// So many bytes may come out whatever went in: 32 MB unless set.
        package var freeBytes = 32 << 20
        /// Beyond that, so many bytes for each byte that went in: 100 unless set.
        package var ratio = 100

        /// Makes the usual limits.
        package init() {}
    }

    private static let pieceSize = 64 * 1_024
    private let inflater: OpaquePointer
    private let limits: Limits
    private var input = InputBuffer()
    private var taken = 0
    private var made = 0
    /// True when the last piece was full, so that the decoder may hold more.
    private var mayHoldMore = false
    private var isAtEnd = false
    private var failure: Failure?

    /// Makes a decoder at the start of its input.
    package init(limits: Limits = Limits()) {
        guard let created = unsafe divan_inflater_create() else {
            preconditionFailure("There is no memory for a gzip decoder.")
        }
        unsafe inflater = unsafe created
        self.limits = limits
    }

    deinit { unsafe divan_inflater_free(inflater) }

    /// Takes in the next bytes.
    package func push(_ bytes: [UInt8]) { input.append(bytes[...]) }

    /// Returns the next decoded bytes, or `nil` when that takes more input.
    ///
    /// - Throws: ``Failure``, and then the same for ever.
    package func next() throws(Failure) -> [UInt8]? {
        if let failure { throw failure }
        while !input.isEmpty || mayHoldMore {
            let output = try step()
            if !output.isEmpty { return output }
        }
        return nil
    }

    /// Says that no more input will come.
    ///
    /// - Throws: ``Failure/truncated`` unless what came was one or more whole gzip streams, or nothing at all.
    package func finish() throws(Failure) {
        if let failure { throw failure }
        guard isAtEnd || taken == 0 else { throw .truncated }
    }

    private func step() throws(Failure) -> [UInt8] {
        var stepTaken = 0
        var result = DIVAN_INFLATE_MORE
        // SAFETY: zlib reads within the input and writes within the capacity; exactly what it says it made counts
        // as initialised.
        let output = unsafe input.rest.withUnsafeBufferPointer { bytes in
            unsafe [UInt8](unsafeUninitializedCapacity: Self.pieceSize) { buffer, count in
                unsafe result = divan_inflate(
                    inflater, bytes.baseAddress, bytes.count, &stepTaken, buffer.baseAddress,
                    buffer.count, &count)
            }
        }
        input.drop(stepTaken)
        taken += stepTaken
        made += output.count
        mayHoldMore = output.count == Self.pieceSize
        if result == DIVAN_INFLATE_END {
            isAtEnd = true
        } else if stepTaken > 0 {
            isAtEnd = false
        }
        if result == DIVAN_INFLATE_DAMAGED || (stepTaken == 0 && output.isEmpty && !input.isEmpty) {
            throw fail(.damaged)
        }
        if made > limits.freeBytes && made / limits.ratio > taken { throw fail(.tooLarge) }
        return output
    }

    private func fail(_ failure: Failure) -> Failure {
        self.failure = failure
        return failure
    }
}
