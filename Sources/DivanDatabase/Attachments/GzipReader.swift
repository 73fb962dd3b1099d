// SPDX-License-Identifier: Apache-2.0

internal import DivanPlatform
internal import Synchronization

/// Decodes what another reader gives, from an offset of the decoded bytes to another.
///
/// What lies before the range is decoded and dropped: gzip cannot be entered in the middle. Memory holds
/// one small piece of the input and what that decodes to.
///
/// Content that decodes to more than its length, or ends before it, is damaged: a peer's stub may tell any length,
/// and a few kilobytes may decode to gigabytes.
///
/// State: guarded by the mutex.
final class GzipReader: AttachmentReader {
    private struct State: ~Copyable {
        let decoder = GzipDecoder()
        var decoded: [UInt8] = []
        /// How much of `decoded` was handed out.
        var taken = 0
        /// Decoded bytes to drop, and to hand out after that.
        var skip: Int
        var left: Int
        /// The bytes that were decoded so far.
        var length = 0
        var isInputAtEnd = false
    }

    /// Little enough that even zeros, which pack a thousandfold, stay within some megabytes.
    private static let inputSize = 4 * 1_024

    private let source: any AttachmentReader
    private let length: Int?
    private let damage: DatabaseError
    private let state: Mutex<State>

    /// - Parameters:
    ///   - source: The coded bytes.
    ///   - range: What of the decoded bytes is read.
    ///   - length: How many decoded bytes there must be; nil where that is not known.
    ///   - damage: What is thrown where the source is not that.
    init(
        _ source: any AttachmentReader, range: Range<Int>, length: Int?, damage: DatabaseError
    ) {
        self.source = source
        self.length = length
        self.damage = damage
        state = Mutex(State(skip: range.lowerBound, left: range.count))
    }

    func read(upTo count: Int) throws -> [UInt8] {
        try state.withLock { state in
            while state.taken == state.decoded.count {
                guard state.left > 0, !state.isInputAtEnd else { return [] }
                try fill(&state)
            }
            let end =
                state.taken + min(max(0, count), state.left, state.decoded.count - state.taken)
            defer {
                state.left -= end - state.taken
                state.taken = end
            }
            return Array(state.decoded[state.taken..<end])
        }
    }

    private func fill(_ state: inout State) throws {
        state.decoded.removeAll(keepingCapacity: true)
        state.taken = 0
        let input = try source.read(upTo: Self.inputSize)
        guard !input.isEmpty else {
            state.isInputAtEnd = true
            guard state.decoder.isAtEnd, state.length == length ?? state.length else {
                throw damage
            }
            return
        }
        var decoded = state.decoded
        var skip = state.skip
        var total = state.length
        do {
            try state.decoder.decode(input.span) { piece in
                total += piece.count
                guard total <= length ?? total else { throw damage }
                let dropped = min(skip, piece.count)
                skip -= dropped
                decoded += piece.dropFirst(dropped)
            }
        } catch { throw damage }
        state.decoded = decoded
        state.skip = skip
        state.length = total
    }
}
