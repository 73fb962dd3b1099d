// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A property while its object is open: where its packed bytes stand, and how its key sorts.
struct PackedEntry {
    /// The first eight bytes of the key, highest first, zeros after a shorter key; each by
    /// ``KeyOrder/rank(_:)``. Different prefixes order as their keys do.
    var prefix: UInt64
    var start: Int
    var length: Int
}

/// The memory that packing text needs besides its result.
///
/// One is kept for the process, so that packing a small document allocates its result only. A parse
/// that finds it taken allocates another.
///
/// ## Invariants
///
/// They speak of memory and of threads: the tests of packing show them under the sanitizers.
///
/// 1. `output` and `spare` point at `capacity` bytes each, `entries` at `entryCapacity` entries,
///    owned by this object until `deinit`.
/// 2. A scratch is used by one parse at a time: the pool hands it out and forgets it.
@safe final class PackedScratch {
    /// Texts up to this size use the kept scratch.
    static let pooledText = 8192

    let capacity: Int
    let output: UnsafeMutablePointer<UInt8>
    let spare: UnsafeMutablePointer<UInt8>
    fileprivate(set) var entryCapacity: Int
    fileprivate(set) var entries: UnsafeMutablePointer<PackedEntry>

    /// The address of the kept scratch, which has a retain of its own; 0 while it is in use.
    private static let pool = Atomic<UInt>(0)

    /// Room for packing a text: its size is doubled because `1e23` packs into more than twice its
    /// length; beyond that the parser gives up, and the careful way takes over.
    init(textLength: Int) {
        capacity = 2 * textLength + 4096
        entryCapacity = 256
        unsafe output = .allocate(capacity: capacity)
        unsafe spare = .allocate(capacity: capacity)
        unsafe entries = .allocate(capacity: entryCapacity)
    }

    deinit {
        unsafe output.deallocate()
        unsafe spare.deallocate()
        unsafe entries.deallocate()
    }

    /// Takes a scratch that is large enough out of the pool, or makes one.
    static func take(textLength: Int) -> PackedScratch {
        guard textLength <= pooledText else { return PackedScratch(textLength: textLength) }
        let kept = unpooled(pool.exchange(0, ordering: .acquiring))
        return kept ?? PackedScratch(textLength: pooledText)
    }

    /// Returns a scratch for the next parse.
    static func give(_ scratch: PackedScratch) {
        // Large ones are released: one document of 50 MB should not keep as much memory from then on.
        guard scratch.capacity == 2 * pooledText + 4096, scratch.entryCapacity <= 4096 else {
            return
        }
        // SAFETY: the retain goes with the address to the parse that takes it out.
        let address = unsafe UInt(bitPattern: Unmanaged.passRetained(scratch).toOpaque())
        // Another parse may have ended in between: its scratch is released.
        _ = unpooled(pool.exchange(address, ordering: .acquiringAndReleasing))
    }

    /// The scratch at an address that was taken out of the pool, with its retain.
    @inline(__always)
    private static func unpooled(_ address: UInt) -> PackedScratch? {
        guard let pointer = unsafe UnsafeRawPointer(bitPattern: address) else { return nil }
        // SAFETY: an exchange hands an address to one caller only, and with it the retain.
        return unsafe Unmanaged<PackedScratch>.fromOpaque(pointer).takeRetainedValue()
    }
}

extension PackedTextParser {
    /// Doubles the room for entries, which all are in use. The scratch takes it over at the end.
    @inline(never)
    mutating func growEntries() {
        // SAFETY: both regions hold at least `entryCount` entries.
        let larger = UnsafeMutablePointer<PackedEntry>.allocate(capacity: 2 * entryCapacity)
        unsafe larger.update(from: entries, count: entryCount)
        unsafe entries.deallocate()
        unsafe entries = larger
        entryCapacity *= 2
    }

    /// Gives the room for entries back to the scratch that it came from.
    mutating func returnEntries(to scratch: PackedScratch) {
        unsafe scratch.entries = entries
        scratch.entryCapacity = entryCapacity
    }
}
