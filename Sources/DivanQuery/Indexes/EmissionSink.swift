// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON
internal import DivanModel

/// Collects what a map function emits for one document after another, in the form in which it is
/// stored.
///
/// Only the thread that maps the documents uses it. The first emission that breaks a limit is kept
/// as the document's failure; the map function is not told.
final class EmissionSink {
    /// The longest key, in bytes of its row form.
    static let largestKey = 1 << 20
    /// The largest value, in bytes of its packed form.
    static let largestValue = 8 << 20

    /// The outcome of mapping a document.
    enum Ending {
        /// It is in the batch, with its rows, if it has any.
        case kept
        /// It has no rows and is not in the batch.
        case leftOut
        /// It is in the batch without rows, since what it emits is wrong, or the map function threw.
        case failed(any Error)
    }

    private let coder: RowKeyCoder
    /// The rows of all documents so far.
    private var batch = EmissionBatch()
    private var failure: EmissionFailure?

    /// The time that encoding took, if that is measured.
    private(set) var encoding = Duration.zero
    /// Whether to measure the time that encoding takes.
    var isMeasuring = false

    init(_ coder: RowKeyCoder) {
        self.coder = coder
    }

    /// Adds a document that the map function does not see.
    func addWithoutRows(_ id: Span<UInt8>) -> Ending {
        batch.begin(id)
        batch.end()
        return .kept
    }

    /// Begins the document that the map function is called with next.
    func begin(_ id: Span<UInt8>) {
        failure = nil
        batch.begin(id)
    }

    /// Ends the document whose map function has returned.
    ///
    /// - Parameter leavesOut: Whether the document is left out if it has emitted nothing.
    /// - Returns: What became of it.
    func end(leavingOutEmpty leavesOut: Bool) -> Ending {
        if let failure { return end(failedWith: failure) }
        if leavesOut { return batch.endLeavingOutEmpty() ? .kept : .leftOut }
        batch.end()
        return .kept
    }

    /// Ends the document whose map function has thrown.
    func end(failedWith error: any Error) -> Ending {
        batch.endWithoutRows()
        return .failed(error)
    }

    /// Hands over the rows.
    func takeBatch() -> EmissionBatch {
        defer { batch = EmissionBatch() }
        return batch
    }

    func emit(_ key: Fragment, _ value: PackedValue?) {
        if let packed = key.packed {
            emit(value) { coder.append(packed, to: &$0, &$1) }
        } else {
            emit(key.value ?? .null, value)
        }
    }

    func emit(_ key: JSONValue, _ value: PackedValue?) {
        guard key.isFinite else { return fail(.notANumber) }
        guard key.isNested(atMost: RowKeyCoder.maximumDepth) else { return fail(.nesting) }
        emit(value) { coder.append(key, to: &$0, &$1) }
    }

    /// Adds a row of a property index.
    func emitKey(_ append: (inout [UInt8]) -> Void) { batch.appendKey(append) }

    func fail(_ failure: EmissionFailure) { self.failure = self.failure ?? failure }

    private func emit(
        _ value: PackedValue?, key: (inout [UInt8], inout NumberForms) -> Void
    ) {
        guard failure == nil else { return }
        let began: ContinuousClock.Instant? = isMeasuring ? .now : nil
        defer { if let began { encoding += ContinuousClock.now - began } }
        guard (value?.bytes.count ?? 0) <= Self.largestValue else { return fail(.valueTooLarge) }
        var keySize = 0
        batch.append(value) { bytes, forms in
            let start = bytes.count
            key(&bytes, &forms)
            keySize = bytes.count - start + forms.bytes.count
        }
        if keySize > Self.largestKey { fail(.keyTooLarge) }
    }
}

extension EmissionBatch {
    /// Adds a row of a property index: its key is put together where it will stand. A key that is too
    /// large is replaced by the key of a document that cannot be indexed.
    mutating func appendKey(_ append: (inout [UInt8]) -> Void) {
        self.append(nil) { bytes, _ in
            let start = bytes.count
            append(&bytes)
            guard bytes.count - start > EmissionSink.largestKey else { return }
            bytes.removeLast(bytes.count - start)
            bytes.append(RowKeyCoder.unindexable)
        }
    }
}

/// What is wrong with something that a map function emitted.
enum EmissionFailure: Error, CustomStringConvertible {
    case notANumber
    case nesting
    case keyTooLarge
    case valueTooLarge

    var description: String {
        switch self {
        case .notANumber: "it emits a number that is NaN or infinite, which JSON has not"
        case .nesting: "it emits something nested deeper than \(RowKeyCoder.maximumDepth) levels"
        case .keyTooLarge: "it emits a key of more than 1 MB"
        case .valueTooLarge: "it emits a value of more than 8 MB"
        }
    }
}
