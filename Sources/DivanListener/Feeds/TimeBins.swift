// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel

/// Which place a database's feed had reached at which time, roughly: CouchDB's *time-seq*.
///
///     noted at     12:00        15:10        18:05        now
///     sequence     0            986          1,020        1,031
///     changes      └─── 986 ────┴──── 34 ────┴─── 11 ─────┘
///
/// ## Invariants
///
/// 1. Times grow, and so do sequences. What stands up to a bin's sequence was changed before the bin's time, so the feed behind it has all
///    that was changed since then, and something from before.
/// 2. There are sixty bins at most, each of three hours at least. The further back they lie, the longer they are: where there is one too
///    many, the two neighbours become one whose length is the smallest part of their age.
struct TimeBins: Sendable, Equatable {
    /// The time from where a bin is, in seconds since 1970, and the last sequence before it.
    struct Bin: Sendable, Equatable {
        var time: Int64
        var sequence: SequenceNumber
    }

    static let most = 60
    /// The length of the shortest bin, in seconds.
    static let shortest: Int64 = 3 * 3_600

    /// Times that can be shown, to the end of the year 9999.
    private static let times: ClosedRange<Int64> = 0...253_402_300_799

    /// The oldest one first.
    private(set) var bins: [Bin] = []

    init() {}

    /// Reads what ``object`` wrote. What breaks an invariant is left out: a file may come from anywhere.
    init(_ object: JSONObject?) {
        for item in (object?["bins"]?.array ?? []).prefix(Self.most) {
            guard let time = item[0]?.int64, let sequence = item[1]?.int64, sequence >= 0 else {
                continue
            }
            _ = append(Bin(time: time, sequence: SequenceNumber(clamping: sequence)))
        }
    }

    /// Adds a bin, unless the last one is too young, or says the same.
    private mutating func append(_ bin: Bin) -> Bool {
        guard Self.times.contains(bin.time) else { return false }
        if let last = bins.last {
            guard bin.time - last.time >= Self.shortest, bin.sequence > last.sequence else {
                return false
            }
        }
        bins.append(bin)
        return true
    }

    var object: JSONObject {
        let items = bins.map { bin -> JSONValue in
            [.integer(bin.time), .integer(Int64(clamping: bin.sequence))]
        }
        return ["bins": .array(items)]
    }

    /// Notes where the feed stands, unless the last bin is too young, or says the same.
    ///
    /// - Parameters:
    ///   - sequence: A place in the feed.
    ///   - time: A time after all changes up to there.
    /// - Returns: Whether a bin begins.
    mutating func note(_ sequence: SequenceNumber, at time: Int64) -> Bool {
        guard append(Bin(time: time, sequence: sequence)) else { return false }
        if bins.count > Self.most { merge() }
        return true
    }

    /// Makes one bin of two neighbours, which keep neither the first nor the last one from being what it is.
    private mutating func merge() {
        let now = bins[bins.count - 1].time
        var (best, least) = (1, Double.infinity)
        for index in 1..<bins.count - 1 {
            let before = bins[index - 1].time
            let share = Double(bins[index + 1].time - before) / Double(now - before)
            if share < least { (best, least) = (index, share) }
        }
        bins.remove(at: best)
    }

    /// A sequence behind which are all changes since a time, 0 for a time before the first bin.
    func sequence(at time: Int64) -> SequenceNumber {
        bins.last { $0.time <= time }?.sequence ?? 0
    }

    /// The bins that have changes, each with how many: up to the last change of the database.
    func counts(until last: SequenceNumber) -> [(time: Int64, count: SequenceNumber)] {
        zip(bins, bins.dropFirst().map(\.sequence) + [last]).compactMap { bin, end in
            end > bin.sequence ? (bin.time, end - bin.sequence) : nil
        }
    }

    /// Stops the program where an invariant does not hold; for tests.
    func checkInvariants() {
        for (bin, next) in zip(bins, bins.dropFirst()) {
            precondition(next.time - bin.time >= Self.shortest, "invariants 1 and 2")
            precondition(bin.sequence < next.sequence, "invariant 1")
        }
        precondition(bins.count <= Self.most, "invariant 2")
    }
}
