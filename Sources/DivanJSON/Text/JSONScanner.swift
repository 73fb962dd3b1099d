// SPDX-License-Identifier: Apache-2.0

/// The lexical half of the parser: a position in a borrowed text, and the tokens of RFC 8259.
///
/// One of the files of this module that touch memory by pointer; ``JSONParser`` and
/// ``PackedTextParser`` put the tokens together, and know no pointers of the text.
///
/// ## Invariants
///
/// `checkInvariants()` tests what the position shows of the second. `MemoryInvariantsTests` call it after each token, and show
/// that bytes behind the end change nothing.
///
/// 1. `base` points at `end` readable bytes for as long as the scanner lives; it lives inside
///    one `withUnsafeBufferPointer` closure and is never stored.
/// 2. `0 <= position <= end`, and no byte at or after `end` is ever read: `byte(at:)` is reached
///    after a comparison with `end`, `word(at:)` after one with `end - 8`.
@safe struct JSONScanner {
    private let base: UnsafePointer<UInt8>
    let end: Int
    var position = 0

    init(_ text: UnsafeBufferPointer<UInt8>) {
        // An empty buffer may have no address; then `end` is 0 and nothing is read (invariant 2).
        unsafe base = text.baseAddress ?? UnsafePointer(bitPattern: 1).unsafelyUnwrapped
        end = text.count
    }

    /// The byte at an offset below `end`.
    @inline(__always)
    func byte(at offset: Int) -> UInt8 {
        // SAFETY: invariant 2.
        unsafe base[offset]
    }

    /// Eight bytes from an offset at most `end - 8`, the first one lowest.
    @inline(__always)
    func word(at offset: Int) -> UInt64 {
        // SAFETY: invariant 2.
        unsafe UInt64(
            littleEndian: UnsafeRawPointer(base + offset).loadUnaligned(as: UInt64.self))
    }

    /// Lends a range of the text, which lies between 0 and `end`.
    @inline(__always)
    func withBytes<R>(_ range: Range<Int>, _ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
        // SAFETY: invariant 1; the tokens' ranges lie within the text.
        unsafe body(UnsafeBufferPointer(start: base + range.lowerBound, count: range.count))
    }

    /// Copies a range of the text, which lies between 0 and `end`, to memory of at least its size.
    @inline(__always)
    func copyBytes(_ range: Range<Int>, to target: UnsafeMutablePointer<UInt8>) {
        // SAFETY: invariant 1; the target's owner has made room.
        unsafe target.update(from: base + range.lowerBound, count: range.count)
    }

    /// The byte at the position, or `nil` at the end.
    @inline(__always)
    var current: UInt8? { position < end ? byte(at: position) : nil }

    /// The failure of finding something else than expected at the position.
    @inline(never)
    func failure(
        _ expectation: StaticString, at offset: Int? = nil,
        _ kind: JSONParser.Failure.Kind = .grammar
    ) -> JSONParser.Failure {
        JSONParser.Failure(offset: offset ?? position, expectation: "\(expectation)", kind: kind)
    }

    /// Moves past spaces, tabs and line ends.
    @inline(__always)
    mutating func skipWhitespace() {
        // Most texts are compact: one comparison says that there is nothing to skip.
        if position < end, byte(at: position) > 0x20 { return }
        skipWhitespaceSlowly()
    }

    @inline(never)
    private mutating func skipWhitespaceSlowly() {
        while position < end {
            switch byte(at: position) {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    /// Moves past a literal name whose first letter stands at the position.
    @inline(__always)
    mutating func skipLiteral(_ name: StaticString) throws(JSONParser.Failure) {
        let length = name.utf8CodeUnitCount
        // SAFETY: a static string of ASCII has `length` bytes at its start.
        let expected = unsafe UnsafeBufferPointer(start: name.utf8Start, count: length)
        for index in 0..<length {
            guard position + index < end, unsafe byte(at: position + index) == expected[index]
            else {
                throw failure("null, true or false")
            }
        }
        position += length
    }

    /// Stops the program where an invariant does not hold; for tests.
    func checkInvariants() {
        precondition(0...end ~= position, "invariant 2")
    }

    /// Checks that nothing but whitespace is left.
    mutating func finish() throws(JSONParser.Failure) {
        skipWhitespace()
        if position < end { throw failure("the end of the text") }
    }
}
