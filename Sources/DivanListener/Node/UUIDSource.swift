// SPDX-License-Identifier: Apache-2.0

internal import DivanSystem
internal import Synchronization

/// How the IDs are made that `_uuids` gives: `uuids/algorithm` of the configuration.
enum UUIDAlgorithm: Sendable {
    /// 128 random bits.
    case random
    /// The same beginning with a number that grows: such IDs lie next to each other in a database.
    case sequential
    /// The time in microseconds, and then random bits.
    case time
    /// The time in microseconds, and then a text.
    case timeAndText(String)

    /// Reads a configuration.
    init(_ table: ConfigurationTable) {
        switch table["uuids", "algorithm"] {
        case "random": self = .random
        case "utc_random": self = .time
        case "utc_id": self = .timeAndText(table.visible("utc_id_suffix", in: ["uuids"]) ?? "")
        default: self = .sequential
        }
    }
}

/// Makes IDs of 32 hexadecimal digits, or of 14 digits and a text.
///
/// State: `state`, guarded by its mutex.
final class UUIDSource: Sendable {
    private struct State {
        /// The first 26 digits of those that lie next to each other, and the number in the last six.
        var beginning = UUIDSource.newBeginning()
        var number = UInt64.random(in: 1...UUIDSource.longestStep)
        /// The last time that was told, so that none is told twice.
        var time: UInt64 = 0
    }

    private static let longestStep: UInt64 = 0xFFE
    private static let mostNumber: UInt64 = 0xFF_F000
    private let state = Mutex(State())

    private static func newBeginning() -> String { String(HexText.random().utf8.prefix(26)) ?? "" }

    /// The next ID.
    ///
    /// - Parameters:
    ///   - algorithm: How it is made.
    ///   - now: Microseconds since 1970.
    /// - Returns: The ID.
    func next(_ algorithm: UUIDAlgorithm, now: UInt64 = UUIDSource.now) -> String {
        switch algorithm {
        case .random: HexText.random()
        case .sequential: state.withLock { Self.following(&$0) }
        case .time: time(now) + (String(HexText.random().utf8.prefix(18)) ?? "")
        case .timeAndText(let text): time(now) + text
        }
    }

    private static func following(_ state: inout State) -> String {
        if state.number > mostNumber {
            state.beginning = newBeginning()
            state.number = .random(in: 1...longestStep)
        }
        defer { state.number += .random(in: 1...longestStep) }
        return state.beginning + digits(state.number, 6)
    }

    private func time(_ now: UInt64) -> String {
        state.withLock { state in
            state.time = max(now, state.time &+ 1)
            return Self.digits(state.time, 14)
        }
    }

    /// The last digits of a number.
    private static func digits(_ number: UInt64, _ count: Int) -> String {
        String(HexText.text(number).utf8.suffix(count)) ?? ""
    }

    static var now: UInt64 { UInt64(clamping: WallClock.millisecondsSince1970) &* 1_000 }
}
