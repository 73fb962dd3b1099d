// SPDX-License-Identifier: Apache-2.0

internal import DivanModel

/// The terms of one document on their way from the map to the index: the value of its only row in an
/// ``EmissionBatch``.
///
///     varint     how many words the document has
///     for each term, in the order of their numbers
///         varint   what the term's number in the ``TermVocabulary`` is above the one before
///         varint   how often the document has it
///         varint   how many bytes the places take
///         places   as in a ``PostingBlock``
package enum DocumentTerms {
    /// How many bits of an occurrence tell its place.
    package static let placeBits: UInt64 = 36

    /// An occurrence of a term, so that occurrences sort by term and then by place.
    package static func occurrence(of term: UInt32, at place: UInt64) -> UInt64 {
        UInt64(term) << placeBits | place
    }

    /// The most different terms that a vocabulary may have.
    package static let mostTerms = 1 << 27
    /// The most places that a document may have; words behind them are not indexed.
    package static let mostPlaces = UInt64(1) << placeBits

    /// Appends the terms of a document.
    ///
    /// - Parameters:
    ///   - occurrences: Each occurrence of each term, sorted.
    ///   - bytes: Where to append.
    package static func append(_ occurrences: [UInt64], to bytes: inout [UInt8]) {
        Varint.append(UInt64(occurrences.count), to: &bytes)
        var (first, before) = (0, UInt64(0))
        while first < occurrences.count {
            let number = occurrences[first] >> placeBits
            var end = first
            var (size, place) = (0, UInt64(0))
            while end < occurrences.count, occurrences[end] >> placeBits == number {
                let next = occurrences[end] & (mostPlaces - 1)
                size += Varint.length(of: next - place)
                place = next
                end += 1
            }
            Varint.append(number - before, to: &bytes)
            Varint.append(UInt64(end - first), to: &bytes)
            Varint.append(UInt64(size), to: &bytes)
            place = 0
            for index in first..<end {
                let next = occurrences[index] & (mostPlaces - 1)
                Varint.append(next - place, to: &bytes)
                place = next
            }
            (first, before) = (end, number)
        }
    }

    /// A term in the bytes of a document.
    struct Term {
        /// Its number in the vocabulary.
        var number: Int
        /// Where what tells how often, and where, begins.
        var start: Int
        /// Where its places stand.
        var places: Range<Int>
    }

    /// How many words the document has whose terms are given.
    static func length(_ bytes: Span<UInt8>) -> UInt64 {
        var offset = 0
        return next(bytes, &offset)
    }

    /// Calls `body` for each term of a range of bytes.
    static func forEach(_ bytes: Span<UInt8>, in range: Range<Int>, _ body: (Term) -> Void) {
        var offset = range.lowerBound
        _ = next(bytes, &offset)
        var number = 0
        while offset < range.upperBound {
            number += Int(next(bytes, &offset))
            let start = offset
            _ = next(bytes, &offset)
            let size = Int(next(bytes, &offset))
            body(Term(number: number, start: start, places: offset..<offset + size))
            offset += size
        }
    }

    /// How often a document has a term, and where its places stand.
    static func posting(_ bytes: Span<UInt8>, at start: Int) -> (UInt64, Range<Int>) {
        var offset = start
        let frequency = next(bytes, &offset)
        let size = Int(next(bytes, &offset))
        return (frequency, offset..<offset + size)
    }

    @inline(__always)
    private static func next(_ bytes: Span<UInt8>, _ offset: inout Int) -> UInt64 {
        do { return try Varint.decode(bytes, at: &offset) } catch {
            preconditionFailure("The map writes whole numbers.")
        }
    }
}
