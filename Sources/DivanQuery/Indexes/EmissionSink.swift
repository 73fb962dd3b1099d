// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON

/// Takes what a map function emits for a document, and puts it in the form in which it is stored.
///
/// Only the thread that maps the documents uses it. The first emission that breaks a limit is kept
/// as the document's failure; the map function is not told.
final class EmissionSink {
    /// The longest key, in bytes of its row form.
    static let largestKey = 1 << 20
    /// The largest value, in bytes of its packed form.
    static let largestValue = 8 << 20

    private let coder: RowKeyCoder
    /// The caller's emissions while a map function runs, else empty ones, in which no document is begun: a
    /// row that is emitted then is dropped.
    private var emissions = EmissionBatch()
    private var failure: EmissionFailure?

    /// The time that encoding took, if that is measured.
    private(set) var encoding = Duration.zero
    /// Whether to measure the time that encoding takes.
    var isMeasuring = false

    init(_ coder: RowKeyCoder) {
        self.coder = coder
    }

    /// Adds the rows of a document to emissions in which it was begun.
    ///
    /// - Throws: What the map function throws, or the first of its emissions that breaks a limit.
    func collect(
        _ document: Document, by definition: IndexDefinition, into emissions: inout EmissionBatch
    ) throws {
        failure = nil
        swap(&self.emissions, &emissions)
        defer { swap(&self.emissions, &emissions) }
        try definition.map(document, self)
        if let failure { throw failure }
    }

    /// Adds the rows of a document that stand in the answer of a group.
    ///
    /// - Throws: The first emission that breaks a limit.
    func collect(_ rows: PackedValue?, into emissions: inout EmissionBatch) throws {
        failure = nil
        swap(&self.emissions, &emissions)
        defer { swap(&self.emissions, &emissions) }
        rows?.forEachElement { row in
            guard let key = row[0] else {
                // So a process writes a row that is nested too deep.
                if row.bool == false { fail(.nesting) }
                return
            }
            // No value takes less room than null, and is shown as that.
            let value = row[1].flatMap { $0.isNull ? nil : $0 }
            emit(value) { coder.append(key, to: &$0, &$1) }
        }
        if let failure { throw failure }
    }

    func emit(_ key: Fragment, _ value: PackedValue?) {
        if let packed = key.packed {
            emit(value) { coder.append(packed, to: &$0, &$1) }
        } else {
            emit(key.value ?? .null, value)
        }
    }

    func emit(_ key: JSONValue, _ value: PackedValue?) {
        guard key.isNested(atMost: RowKeyCoder.maximumDepth) else { return fail(.nesting) }
        guard key.isFinite else { return fail(.notANumber) }
        emit(value) { coder.append(key, to: &$0, &$1) }
    }

    /// Adds a row of a property index.
    func emitKey(_ append: (inout [UInt8]) -> Void) { emissions.appendKey(append) }

    func fail(_ failure: EmissionFailure) { self.failure = self.failure ?? failure }

    private func emit(
        _ value: PackedValue?, key: (inout [UInt8], inout NumberForms) -> Void
    ) {
        guard failure == nil else { return }
        let began: ContinuousClock.Instant? = isMeasuring ? .now : nil
        defer { if let began { encoding += ContinuousClock.now - began } }
        guard (value?.bytes.count ?? 0) <= Self.largestValue else { return fail(.valueTooLarge) }
        var keySize = 0
        emissions.append(value) { bytes, forms in
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
