// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The requests of the workloads A to F of the Yahoo! Cloud Serving Benchmark, which all runners read from one file.
///
///     A   half reads, half updates              D   reads of what came last, a twentieth inserts
///     B   reads, a twentieth updates            E   short scans, a twentieth inserts
///     C   reads                                 F   half reads, half reads with an update
///
/// A record is asked for the more often, the lower its rank is, with the exponent 0.99. Ranks are scattered over the
/// records, but for D, where the newest record has the first rank. An update sets one field. A scan reads 1 to 100
/// records in the order of their IDs.
///
/// The file `INPUT.requests-NAME` has eight bytes for each request, numbers little-endian:
///
/// ```
/// 0   1   the kind
/// 1   1   the number of the field that is looked at, or set
/// 2   2   how many records a scan reads
/// 4   4   the number of the record in the input file
/// ```
public struct RecordRequests {
    /// A workload.
    public enum Mix: String, CaseIterable, Sendable {
        case a, b, c, d, e, f

        /// The name of the row.
        public var name: String { "ycsb_\(rawValue)" }

        /// How many requests of a hundred are no reads.
        fileprivate var changes: Int {
            switch self {
            case .a, .f: 50
            case .b, .d: 5
            case .c: 0
            // Which are no scans.
            case .e: 5
            }
        }
    }

    /// What is asked.
    public enum Kind: UInt8, Sendable {
        case read, update, insert, scan, readAndUpdate
    }

    /// One request.
    public struct Request: Sendable {
        /// What is asked.
        public var kind: Kind
        /// The number of the field that is looked at, or set.
        public var field: Int
        /// How many records a scan reads.
        public var count: Int
        /// The number of the record in the input file.
        public var record: Int
    }

    private var requests: [Request] = []

    /// Where the requests of a mix stand.
    public static func path(_ name: String, beside input: String) -> String {
        "\(input).requests-\(name)"
    }

    /// Reads the requests of a row that stand beside an input file.
    public static func read(_ name: String, beside input: String) throws -> [Request] {
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path(name, beside: input))))
        return stride(from: 0, to: bytes.count, by: 8).compactMap { at in
            guard let kind = Kind(rawValue: bytes[at]) else { return nil }
            let record = (0..<4).reduce(0) { $0 | Int(bytes[at + 4 + $1]) << (8 * $1) }
            return Request(
                kind: kind, field: Int(bytes[at + 1]),
                count: Int(bytes[at + 2]) | Int(bytes[at + 3]) << 8, record: record)
        }
    }

    /// Chooses requests.
    ///
    /// - Parameters:
    ///   - mix: The workload.
    ///   - count: How many requests.
    ///   - records: How many records are there before. New ones have the numbers behind.
    public init(_ mix: Mix, count: Int, records: Int) {
        var numbers = SeededNumbers(seed: 99)
        let ranks = ZipfRanks(count: records, exponent: 0.99)
        var known = records
        for _ in 0..<count {
            let isChange = numbers.next(below: 100) < mix.changes
            let field = numbers.next(below: RecordDocument.fieldCount)
            let rank = ranks.next(&numbers)
            var request = Request(
                kind: .read, field: field, count: 1, record: Self.scattered(rank, below: records))
            switch (mix, isChange) {
            case (.a, true), (.b, true): request.kind = .update
            case (.f, true): request.kind = .readAndUpdate
            case (.d, true), (.e, true):
                request.kind = .insert
                request.record = known
                known += 1
            case (.d, false): request.record = known - 1 - rank
            case (.e, false):
                request.kind = .scan
                request.count = 1 + numbers.next(below: 100)
            case (.c, _), (_, false): break
            }
            requests.append(request)
        }
    }

    /// Writes them beside the input file.
    public func write(_ name: String, beside input: String) throws {
        var bytes = Data()
        for request in requests {
            bytes.append(contentsOf: [
                request.kind.rawValue, UInt8(request.field), UInt8(request.count & 0xff),
                UInt8(request.count >> 8),
            ])
            withUnsafeBytes(of: UInt32(request.record).littleEndian) {
                bytes.append(contentsOf: $0)
            }
        }
        try bytes.write(to: URL(fileURLWithPath: Self.path(name, beside: input)))
    }

    /// A number below a bound for each rank, so that those that are asked for often are not neighbours.
    private static func scattered(_ rank: Int, below bound: Int) -> Int {
        var numbers = SeededNumbers(seed: UInt64(rank))
        return numbers.next(below: bound)
    }
}
