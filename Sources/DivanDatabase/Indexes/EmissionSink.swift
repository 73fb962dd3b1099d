// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex
internal import DivanJSON
internal import DivanModel

/// Collects what a map function emits for one document after another, in the form in which it is
/// stored.
///
/// Used by the one thread that maps the documents. The first emission that breaks a limit is kept as
/// the document's failure; the map function need not know.
final class EmissionSink {
    /// The longest key, in bytes of its row form.
    static let largestKey = 1 << 20
    /// The largest value, in bytes of its packed form.
    static let largestValue = 8 << 20

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

    /// Runs a map function for a document, which has no rows when it fails.
    ///
    /// - Returns: Why it failed.
    func collect(_ id: DocumentID, _ map: () throws -> Void) -> (any Error)? {
        failure = nil
        batch.begin(id)
        do {
            try map()
            if let failure { throw failure }
            batch.end()
            return nil
        } catch {
            batch.endWithoutRows()
            return error
        }
    }

    /// Gives the rows away.
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
    /// large becomes the one of a document that cannot be indexed.
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
