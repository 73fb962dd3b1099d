// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex
package import DivanJSON
package import DivanModel
internal import DivanStorage

/// What a database knows of one of its indexes: a row of the store `indexes`, under its name.
///
/// The row is a packed object, so that a later release can add to it:
///
///     number        which stores it has: `index/N/…`
///     signature     what it was built with: another one builds it anew
///     version       the app's version text
///     seed          of the ranks of its rows
///     sequence      every change up to here is in it
///     purge         every purge up to here is in it
///     partials      whether its partial reductions are up to date
///     failures      documents that its map function failed for
package struct IndexRecord: Equatable, Sendable {
    /// Which stores it has.
    package var number: UInt64
    /// What it was built with: another one builds it anew.
    @ByBytes package var signature: String
    /// The app's version text.
    @ByBytes package var version: String
    /// The seed of the ranks of its rows.
    package var seed: UInt64
    /// The change up to which all are in it.
    package var lastSequence: SequenceNumber = 0
    /// The purge up to which all are in it.
    package var lastPurge: UInt64 = 0
    /// Whether its partial reductions are up to date.
    package var hasPartials = true
    /// How many documents its map function failed for.
    package var failures: UInt64 = 0

    /// What the signatures of full-text indexes begin with. Those of earlier releases had rows, as views have.
    package static let textSignature = "7 text "

    /// What the signatures of all other indexes begin with. Those of earlier builds have other stores.
    package static let rowsSignature = "8 "

    /// Whether it has `IndexStores` as they are now.
    package var hasRows: Bool { signature.hasBytePrefix(Self.rowsSignature) }

    /// Whether it is a full-text index, which has `TextIndexStores`.
    package var isText: Bool { signature.hasBytePrefix(Self.textSignature) }

    /// Makes the record of an index that has nothing in it.
    package init(number: UInt64, signature: String, version: String, seed: UInt64) {
        self.number = number
        self.signature = signature
        self.version = version
        self.seed = seed
    }

    init(_ row: Span<UInt8>) throws {
        let value = PackedValue(copying: row)
        guard let number = value["number"]?.number64, let signature = value["signature"]?.string,
            let version = value["version"]?.string, let seed = value["seed"]?.number64,
            let sequence = value["sequence"]?.number64, let purge = value["purge"]?.number64,
            let hasPartials = value["partials"]?.bool, let failures = value["failures"]?.number64
        else { throw MalformedRow() }
        self.init(number: number, signature: signature, version: version, seed: seed)
        lastSequence = sequence
        lastPurge = purge
        self.hasPartials = hasPartials
        self.failures = failures
    }

    var bytes: [UInt8] {
        PackedValue(
            .object([
                "number": number.jsonValue, "signature": .string(signature),
                "version": .string(version), "seed": seed.jsonValue,
                "sequence": lastSequence.jsonValue, "purge": lastPurge.jsonValue,
                "partials": .bool(hasPartials), "failures": failures.jsonValue,
            ])
        ).bytes
    }
}

/// A record beside the bytes that it was decoded from.
package struct KnownIndexRecord {
    /// The row.
    package var bytes: [UInt8]
    /// What the row says.
    package var record: IndexRecord
}

extension PackedValue {
    fileprivate var number64: UInt64? { unsigned ?? int64.flatMap { UInt64(exactly: $0) } }
}

/// The name of an index in the store `indexes`: its kind, and the app's name for it.
package struct IndexName: Hashable, Sendable {
    /// What an index is for.
    package enum Kind: String {
        case view
        case property
        case text
    }

    /// What it is for.
    package var kind: Kind
    /// The app's name for it, which is unique among those of its kind.
    @ByBytes package var name: String

    var key: [UInt8] { Array("\(kind.rawValue)/\(name)".utf8) }

    /// Names an index.
    package init(_ kind: Kind, _ name: String) {
        self.kind = kind
        self.name = name
    }

    /// The name in a sentence: the rows of an index in another order than its first have it behind a zero.
    var text: String {
        let parts = name.utf8.split(separator: 0, maxSplits: 1).map { String(Substring($0)) }
        return parts.count == 2 ? "\(parts[0]) (\(parts[1]))" : name
    }

    init?(key: Span<UInt8>) {
        // A slash is a byte here: with a mark on it, it is another letter for Swift.
        let parts = String(utf8: key).utf8.split(
            separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false
        ).map { String(Substring($0)) }
        guard parts.count == 2, let kind = Kind(rawValue: parts[0]) else { return nil }
        self.init(kind, parts[1])
    }
}
