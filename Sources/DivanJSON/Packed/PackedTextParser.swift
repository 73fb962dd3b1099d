// SPDX-License-Identifier: Apache-2.0

/// Packs JSON text in one pass: the bytes of the packed form are written while the text is read.
///
/// ```
///   text     {"name":"Ann","age":30}
///   output   01 .. .. [04 name 03 Ann] [03 age 5E]      heads are left open, entries in text order
///   entries            └ prefix, start, length  └ …     one for each property of an open object
///   result   01 C2 0E [03 age 5E] [04 name 03 Ann]      at its end an object is gathered, sorted
/// ```
///
/// It handles only the usual case. At anything wrong or unusual it gives up (position -1), and
/// ``PackedValue/init(parsing:options:)`` gives the text to ``JSONParser``, which either finds the
/// exact failure or packs what this one could not. So the two accept the same texts by
/// construction, and no code here describes an error.
///
/// ## Invariants
///
/// A debug build runs `checkInvariants(at:)` before each value, in whatever packs a text; `MemoryInvariantsTests` pack random
/// texts that end anywhere.
///
/// 1. `text` points at `end` readable bytes; every read is below `end`.
/// 2. Before each value and key: `out + (end - position) + slack <= capacity`, or one byte more, by which
///    an open head is longer than its bracket. So whatever the rest of the text holds as strings fits, with one word
///    to spare. Strings never pack into more bytes
///    than their text with its quotes, but for long ones, which check again; numbers and heads of
///    containers may, so the room is checked before them.
/// 3. `entries[..<entryCount]` belong to the objects that are open, innermost last.
@safe struct PackedTextParser: ~Copyable {
    /// Where the parser is: in the text, and in the output. A position of -1 means that it gave up.
    struct Place {
        var position: Int
        var out: Int

        static let failed = Place(position: -1, out: 0)
        @inline(__always) var isFailed: Bool { position < 0 }
    }

    /// Room beyond the text's rest: the largest head, number and over-long copy together.
    static let slack = 64

    let text: UnsafePointer<UInt8>
    let end: Int
    let output: UnsafeMutablePointer<UInt8>
    let spare: UnsafeMutablePointer<UInt8>
    let capacity: Int
    var entries: UnsafeMutablePointer<PackedEntry>
    var entryCapacity: Int
    var entryCount = 0
    /// How many bytes containers inside of others have moved, to be sorted or to make room for
    /// their heads. Each level of nesting may move all that is inside: with many levels of much
    /// content the careful way, which moves nothing, is the faster one.
    var moved = 0
    /// The root when it is an object: gathered straight into the result.
    var pendingRoot: PackedContainerHead?
    var pendingCount = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>, scratch: PackedScratch) {
        unsafe text = bytes.baseAddress ?? UnsafePointer(bitPattern: 1).unsafelyUnwrapped
        end = bytes.count
        unsafe output = scratch.output
        unsafe spare = scratch.spare
        capacity = scratch.capacity
        unsafe entries = scratch.entries
        entryCapacity = scratch.entryCapacity
    }

    /// Packs a text; `nil` when the careful way has to look at it.
    static func pack(_ text: Span<UInt8>, depth: Int) -> [UInt8]? {
        guard text.count < Int32.max / 2 else { return nil }
        let scratch = PackedScratch.take(textLength: text.count)
        defer { PackedScratch.give(scratch) }
        // SAFETY: the parser lives inside the closure, while text and scratch are alive.
        return unsafe text.withUnsafeBufferPointer { buffer in
            var parser = unsafe PackedTextParser(buffer, scratch: scratch)
            defer { parser.returnEntries(to: scratch) }
            return parser.root(depth: depth)
        }
    }

    private mutating func root(depth: Int) -> [UInt8]? {
        // SAFETY: a scratch has room for a byte.
        unsafe output[0] = PackedTag.version
        let place = value(Place(position: skipWhitespace(0), out: 1), depth: depth)
        if place.isFailed || skipWhitespace(place.position) != end { return nil }
        if let head = pendingRoot {
            let length = 1 + head.length + head.size
            let count = pendingCount
            // SAFETY: `gather` writes `length - 1` bytes, and at most `slack` of rubbish after
            // them.
            return unsafe [UInt8](unsafeUninitializedCapacity: length + Self.slack) {
                buffer, used in
                guard let target = buffer.baseAddress else { return }
                unsafe target[0] = PackedTag.version
                unsafe gather(head, entriesFrom: 0, count: count, to: target + 1)
                used = length
            }
        }
        // SAFETY: `out` bytes were written.
        return unsafe Array(UnsafeBufferPointer(start: output, count: place.out))
    }

    /// The next position that holds no whitespace.
    @inline(__always)
    mutating func skipWhitespace(_ position: Int) -> Int {
        // SAFETY: invariant 1.
        if position < end, unsafe text[position] > 0x20 { return position }
        return skipSpaces(position)
    }

    @inline(never)
    private mutating func skipSpaces(_ position: Int) -> Int {
        var position = position
        // SAFETY: invariant 1.
        while position < end,
            unsafe text[position] == 0x20 || text[position] == 0x0A || text[position] == 0x0D
                || text[position] == 0x09
        {
            position += 1
        }
        return position
    }

    /// Packs one value.
    @inline(__always)
    mutating func value(_ place: Place, depth: Int) -> Place {
        checkInvariants(at: place)
        guard place.position < end else { return .failed }
        // SAFETY: invariant 1.
        switch unsafe text[place.position] {
        case 0x22: return string(Place(position: place.position + 1, out: place.out))
        case 0x30...0x39, 0x2D: return number(place)
        case 0x7B: return depth > 0 ? object(place, depth: depth - 1) : .failed
        case 0x5B: return depth > 0 ? array(place, depth: depth - 1) : .failed
        case 0x74: return literal(place, "true", PackedTag.true)
        case 0x66: return literal(place, "false", PackedTag.false)
        case 0x6E: return literal(place, "null", PackedTag.null)
        default: return .failed
        }
    }

    @inline(__always)
    private mutating func literal(_ place: Place, _ name: StaticString, _ tag: UInt8) -> Place {
        let length = name.utf8CodeUnitCount
        guard length <= end - place.position else { return .failed }
        // SAFETY: the text has `length` more bytes (invariant 1), and so has the name.
        for index in 0..<length
        where unsafe text[place.position + index] != name.utf8Start[index] {
            return .failed
        }
        unsafe output[place.out] = tag
        return Place(position: place.position + length, out: place.out + 1)
    }

    /// Counts bytes that are about to be moved.
    ///
    /// - Returns: Whether they are still few for the length of the text: at most eight times its length.
    @inline(__always)
    mutating func mayMove(_ count: Int) -> Bool {
        moved += count
        return moved <= 8 * end + 4096
    }

    /// Whether there is room for the rest of the text and more (invariant 2).
    @inline(__always)
    mutating func hasRoom(_ place: Place) -> Bool {
        place.out + (end - place.position) + Self.slack <= capacity
    }

    /// Stops a debug build where an invariant does not hold before a value.
    @inline(__always)
    private func checkInvariants(at place: Place) {
        assert(0...end ~= place.position, "invariant 1")
        assert(place.out + (end - place.position) + Self.slack <= capacity + 1, "invariant 2")
        assert(0...entryCapacity ~= entryCount, "invariant 3")
    }
}
