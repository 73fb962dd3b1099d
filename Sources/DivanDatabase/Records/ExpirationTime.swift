// SPDX-License-Identifier: Apache-2.0

package import DivanModel
package import FoundationEssentials

/// When a document expires: milliseconds since 1970, from then to the end of the year 9999.
///
/// Dates before and after these are taken for the first and the last of them.
package struct ExpirationTime: Hashable, Comparable, Sendable {
    /// The end of the year 9999.
    package static let latest = ExpirationTime(unchecked: 253_402_300_799_999)

    /// Since 1970.
    package let milliseconds: UInt64

    private init(unchecked milliseconds: UInt64) { self.milliseconds = milliseconds }

    /// Takes a stored number.
    init(stored milliseconds: UInt64) throws {
        guard milliseconds <= Self.latest.milliseconds else { throw MalformedRow() }
        self.milliseconds = milliseconds
    }

    /// Takes a date, to the nearest millisecond.
    package init(_ date: Date) {
        let milliseconds = (date.timeIntervalSince1970 * 1_000).rounded()
        precondition(!milliseconds.isNaN, "A date that is not a number is no date of expiration.")
        let latest = Double(Self.latest.milliseconds)
        self.milliseconds = UInt64(min(max(0, milliseconds), latest))
    }

    var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1_000) }

    /// By the system's clock.
    static var now: ExpirationTime { ExpirationTime(Date()) }

    func advanced(byMilliseconds step: UInt64) -> ExpirationTime {
        ExpirationTime(unchecked: min(milliseconds + step, Self.latest.milliseconds))
    }

    /// Whether one time is before another.
    package static func < (one: ExpirationTime, other: ExpirationTime) -> Bool {
        one.milliseconds < other.milliseconds
    }
}

/// The key of a row in `expirations`, whose order is that in which documents expire.
///
///     offset  size  meaning
///          0     8  milliseconds since 1970, big-endian
///          8     …  UTF-8 of the document ID
package struct ExpirationKey: Equatable {
    /// When the document expires.
    package var time: ExpirationTime
    /// The document.
    package var documentID: DocumentID

    init(_ time: ExpirationTime, _ documentID: DocumentID) {
        self.time = time
        self.documentID = documentID
    }

    /// Reads the key of a row.
    package init(_ key: Span<UInt8>) throws {
        var reader = RowReader()
        time = try ExpirationTime(stored: try reader.bigEndian64(key))
        documentID = DocumentID(String(utf8: key.extracting(reader.rest(key))))
    }

    /// The key as it is stored.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(8 + documentID.text.utf8.count)
        bytes.append(bigEndian64: time.milliseconds)
        bytes.append(contentsOf: documentID.text.utf8)
        return bytes
    }
}
