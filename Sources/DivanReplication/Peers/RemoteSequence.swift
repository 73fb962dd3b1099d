// SPDX-License-Identifier: Apache-2.0

package import DivanJSON
package import DivanModel

/// A place in a peer's changes feed, as the peer names it: opaque to this side.
///
/// A Divan and a Couchbase Lite count (`42`), CouchDB gives text (`"7-g1AAAA…"`), others arrays. It is
/// kept and handed back as it came, and never compared but for equality.
package struct RemoteSequence: Sendable, Hashable {
    /// The sequence as JSON.
    package let value: JSONValue

    /// Takes a sequence from a feed or a checkpoint; nil for what is none.
    package init?(_ value: JSONValue?) {
        switch value {
        case .integer, .unsigned, .string, .array, .object, .double, .number: break
        case .null, .bool, nil: return nil
        }
        guard let value else { return nil }
        self.value = value
    }

    /// Makes the sequence of a local database.
    package init(_ number: SequenceNumber) { value = JSONValue(number) }

    /// The number, where the feed counts.
    package var number: SequenceNumber? {
        if let number = value.uint64 { return number }
        return value.string.flatMap { SequenceNumber($0, radix: 10) }
    }

    /// The sequence as it stands in a query: text without quotes, anything else as JSON.
    package var text: String { value.string ?? JSONWriter.string(value) }

    /// Whether both name one place, as far as can be told: they are equal, or are CouchDB's texts with
    /// the same number before the hyphen.
    func isSamePlace(as other: RemoteSequence) -> Bool {
        if self == other { return true }
        guard let mine = prefix, let theirs = other.prefix else { return false }
        return mine == theirs
    }

    /// The number before the hyphen of CouchDB's texts.
    private var prefix: UInt64? {
        value.string?.split(separator: "-", maxSplits: 1).first.flatMap { UInt64($0, radix: 10) }
    }

    /// How far along the feed it is, as far as can be told: a help to choose between places that are both good. Of a source
    /// that counts, and is of one mind, it is exact.
    var estimate: UInt64? { number ?? prefix }

    /// The sequence of a feed's beginning.
    package static let zero = RemoteSequence(0 as SequenceNumber)
}

extension RemoteSequence: CustomStringConvertible {
    /// The text, cut where it is long.
    package var description: String { String(text.prefix(40)) }
}
