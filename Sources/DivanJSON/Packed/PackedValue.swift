// SPDX-License-Identifier: Apache-2.0

/// A JSON value in Divan's packed binary form: the form in which bodies are stored and read.
///
/// ```swift
/// let body = try PackedValue(parsing: #"{"name": "Ann", "age": 30}"#)
/// body["age"]?.int64                 // 30, without looking at anything else
/// body.jsonText                      // {"age":30,"name":"Ann"}
/// ```
///
/// A packed value is one run of bytes that refers to nothing outside. Each value begins with a tag
/// that tells its type and length, so a reader steps over what it does not want:
///
/// ```
///   {"name":"Ann","age":30}
///
///   01   C2 0E   03 'a' 'g' 'e'   5E   04 'n' 'a' 'm' 'e'   03 'A' 'n' 'n'
///   │    │  │    └─ key           └─30 └─ key               └─ string of 3 bytes
///   │    │  └─ 14 bytes follow
///   │    └─ object of 2 properties
///   └─ version, before the root only
/// ```
///
/// A `PackedValue` is these bytes, shared, and the place of one value in them, so taking a nested
/// value copies nothing and keeps the whole.
///
/// ## Invariants
///
/// `checkInvariants()` tests the first three for a value, `PackedValueCorruptionTests` the fourth for any bytes.
///
/// 1. Keys are sorted by UTF-16 code unit and occur once.
/// 2. A value has one packed form: equal values have equal bytes, and the other way round.
/// 3. Everything that a revision's digest sees is kept: `1` and `1.0`, `-0.0`, digits of big
///    numbers.
/// 4. No bytes crash or hang a reader. A part that is corrupt reads as absent, null or empty;
///    ``validate()`` tells for certain.
///
/// ## Complexity
/// A property of an object is found by stepping over up to sixteen others, after a binary search
/// in a larger object; an element of an array likewise.
public struct PackedValue: Sendable {
    /// The bytes that this value lies in: those of a root, or of a ``PackedList``.
    let storage: [UInt8]
    /// Where the value's tag stands; 1 for a root, after the version.
    let offset: Int

    /// Packs JSON text, without building values in between.
    ///
    /// Accepts what ``JSONParser`` accepts, under the same rules.
    ///
    /// - Throws: ``JSONParser/Failure`` at the first byte that does not fit.
    public init(
        parsing text: Span<UInt8>, options: JSONParser.Options = .init()
    ) throws(JSONParser.Failure) {
        if let packed = PackedTextParser.pack(text, depth: options.effectiveDepth) {
            self.init(bytes: packed)
        } else {
            // Wrong or unusual. What is wrong is found without building the values before it; what is unusual, which
            // nests deep with much in it, is packed from values.
            if let failure = JSONScanner.failure(in: text, depth: options.effectiveDepth) {
                throw failure
            }
            let value = try JSONParser.parse(text, options: options)
            self.init(bytes: PackedEncoder.root(value))
        }
    }

    /// Packs JSON text. See ``init(parsing:options:)``.
    public init(
        parsing text: [UInt8], options: JSONParser.Options = .init()
    ) throws(JSONParser.Failure) {
        try self.init(parsing: text.span, options: options)
    }

    /// Packs JSON text. See ``init(parsing:options:)``.
    public init(
        parsing text: String, options: JSONParser.Options = .init()
    ) throws(JSONParser.Failure) {
        try self.init(parsing: Array(text.utf8).span, options: options)
    }

    /// Packs a value.
    ///
    /// Infinities and NaN, which JSON does not have, become null.
    ///
    /// - Precondition: The value nests at most ``JSONValue/maximumDepth`` deep, which
    ///   ``JSONValue/isNested(atMost:)`` tells, and packs into less than 2 GiB.
    public init(_ value: JSONValue) {
        precondition(
            value.isNested(atMost: JSONValue.maximumDepth),
            "A value to pack nests at most \(JSONValue.maximumDepth) arrays and objects.")
        self.init(bytes: PackedEncoder.root(value))
    }

    /// Takes packed bytes as they are.
    ///
    /// They are not checked here: corrupt parts read as absent, null or empty. See ``validate()``.
    public init(bytes: [UInt8]) {
        storage = bytes
        offset = 1
    }

    /// Copies packed bytes as they are. See ``init(bytes:)``.
    public init(copying bytes: Span<UInt8>) {
        // SAFETY: the bytes are copied inside the closure.
        self.init(bytes: unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) })
    }

    /// A value inside the same bytes.
    init(storage: [UInt8], offset: Int) {
        self.storage = storage
        self.offset = offset
    }

    /// The packed bytes of this value as a root of its own.
    public var bytes: [UInt8] {
        if offset == 1 { return storage }
        return withReader { reader, node in
            guard let node else { return [PackedTag.version, PackedTag.null] }
            return [PackedTag.version] + storage[offset..<node.end]
        }
    }

    /// Lends the packed bytes of this value as a root of its own.
    @inline(__always)
    public func withBytes<R>(_ body: (Span<UInt8>) throws -> R) rethrows -> R {
        if offset == 1 { return try body(storage.span) }
        let root = bytes
        return try body(root.span)
    }

    /// The number of packed bytes of this value as a root of its own.
    public var byteCount: Int { offset == 1 ? storage.count : bytes.count }

    /// Runs a closure with a reader of the bytes and the head of this value.
    @inline(__always)
    func withReader<R>(_ body: (PackedReader, PackedNode?) throws -> R) rethrows -> R {
        // SAFETY: the reader lives inside the closure.
        try unsafe storage.withUnsafeBufferPointer { buffer in
            let reader = unsafe PackedReader(buffer)
            if offset == 1 { return try body(reader, reader.root) }
            return try body(reader, reader.node(at: offset, limit: reader.count))
        }
    }
}

extension PackedValue: Hashable {
    /// Whether both are the same value, by the bytes of their packed forms.
    public static func == (left: PackedValue, right: PackedValue) -> Bool {
        left.bytes == right.bytes
    }

    /// Hashes the packed bytes.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(bytes)
    }
}

extension PackedValue: CustomStringConvertible {
    /// The value as compact JSON.
    public var description: String { jsonText }
}
