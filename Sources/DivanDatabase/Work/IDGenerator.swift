// SPDX-License-Identifier: Apache-2.0

internal import DivanModel
internal import DivanSystem
internal import Synchronization

/// The source of new identities: document IDs and database UUIDs.
///
/// A xoshiro256** generator seeded once with 256 bits from the operating system: asking the system
/// for each ID costs a system call, which alone would take a tenth of a batched insert. IDs need to
/// be unique, not secret; the private UUID of a database draws from the system directly.
///
/// Document IDs follow UUIDv7: 48 bits of milliseconds, then random bits, so that documents made
/// one after another lie beside each other on disk. Within one millisecond the 12 bits after the
/// version count upwards, which keeps the order of creation in the usual case.
final class IDGenerator: Sendable {
    static let shared = IDGenerator()

    private struct State {
        var words: (UInt64, UInt64, UInt64, UInt64)
        var lastMillisecond: UInt64 = 0
        var counter: UInt64 = 0
    }

    private let state: Mutex<State>

    init() {
        var system = SystemRandomNumberGenerator()
        // xoshiro's one forbidden state is all zeros; the odd first word excludes it.
        state = Mutex(
            State(words: (system.next() | 1, system.next(), system.next(), system.next())))
    }

    /// A new document ID, sorted after those made in earlier milliseconds.
    func documentID() -> DocumentID {
        let (high, low) = state.withLock { state in
            let now = UInt64(WallClock.millisecondsSince1970)
            if now > state.lastMillisecond {
                state.lastMillisecond = now
                // Starting low leaves room to count within the millisecond.
                state.counter = Self.next(&state.words) & 0x1FF
            } else {
                state.counter += 1
                if state.counter > 0xFFF {
                    state.lastMillisecond += 1
                    state.counter = 0
                }
            }
            let high = state.lastMillisecond << 16 | 0x7000 | state.counter
            let low = Self.next(&state.words) >> 2 | 0x8000_0000_0000_0000
            return (high, low)
        }
        return DocumentID(HexadecimalText.uuid(high, low))
    }

    /// A random UUID (version 4), drawn from the operating system.
    func uuid() -> String {
        var system = SystemRandomNumberGenerator()
        let high = system.next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
        let low = system.next() >> 2 | 0x8000_0000_0000_0000
        return HexadecimalText.uuid(high, low)
    }

    private static func next(_ s: inout (UInt64, UInt64, UInt64, UInt64)) -> UInt64 {
        func rotate(_ x: UInt64, _ k: UInt64) -> UInt64 { x << k | x >> (64 - k) }
        let result = rotate(s.1 &* 5, 7) &* 9
        let t = s.1 << 17
        s.2 ^= s.0
        s.3 ^= s.1
        s.1 ^= s.2
        s.0 ^= s.3
        s.2 ^= t
        s.3 = rotate(s.3, 45)
        return result
    }
}
