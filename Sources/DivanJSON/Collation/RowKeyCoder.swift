// SPDX-License-Identifier: Apache-2.0

/// Writes JSON values as bytes that sort as the values do, and reads them back.
///
/// An index is a sorted store of byte strings. A row's key is the emitted value in this form, then
/// the document's ID, then an ordinal; so the engine's plain comparison of bytes sorts rows by
/// collation and then by document, and a query reads the emitted value from the key alone.
///
/// ```swift
/// let coder = RowKeyCoder(.unicode, strings: ICUCollator.root)
/// var key: [UInt8] = []
/// coder.append(["2026", 11, "milk"], to: &key)
/// let value = try coder.decode(key.span)       // ["2026", 11, "milk"]
/// ```
///
/// ## The bytes
///
/// A value is a tag, its content, and whatever ends the content. No encoding is the beginning of
/// another one, so encodings may follow each other:
///
///     null, false, true   tag
///     number              tag, 8 bytes, 10                                         10 bytes
///     string (.unicode)   tag, sort key, 00 00                     if that tells the text,
///                         tag, sort key, 00 01, escaped UTF-8, 00  if not
///     string (other)      tag, escaped UTF-8, 00
///     array               tag, each item, 00
///     object              tag, each key as a string, each followed by its value, 00
///
/// A tag is 16 times the rank of the type in the collation: 10 to 70 in hex. Zero, which is below
/// every tag, ends a list, so a shorter list sorts first. Escaped, the bytes 00 and 01 become 01 01
/// and 01 02, and zero can end a text too. `docs/collation.md` gives every byte, with an example.
///
/// Numbers that are equal have equal bytes: `1` and `1.0` are one key. Which of them was encoded is kept
/// apart, in `NumberForms`; without these, decoding gives the plainest.
///
/// ## Invariants
///
/// They are rules of two values or of any bytes. `CollationRowKeyTests` show the first three with random values,
/// `CollationCorruptionTests` the fourth with damaged bytes.
///
/// 1. The order of two encodings by bytes is ``ValueOrder/collate(_:_:)-(JSONValue,_)`` of the values:
///    they are equal if and only if the values collate as equal.
/// 2. `decode` of an encoding, with its forms restored, is the identical value; an object comes back
///    with sorted keys.
/// 3. The encoding of an array without its last byte begins the encoding of every array that begins
///    with the same items, and of no other value: see ``appendPrefix(of:to:)``.
/// 4. Bytes that are no encoding are an error with an offset; none makes `decode` trap.
///
/// The sort key belongs to a version of the Unicode library: an index records
/// ``StringCollator/version`` and is built anew under another. Text is kept beside the sort key where
/// that has forgotten it, and breaks the ties that sort keys leave. Most texts are of plain letters,
/// digits and signs, which their sort keys tell: an index of them is two fifths smaller.
public struct RowKeyCoder: Sendable {
    /// The order of the bytes.
    public let collation: Collation

    let strings: any StringCollator

    /// Whether keys stand behind the name of a partition and a zero, in an index that is made for partitions.
    package var followsPartition = false

    /// The deepest nesting that `decode` follows, the limit of emitted keys.
    public static let maximumDepth = 512

    /// Makes the coder of a collation.
    ///
    /// - Parameters:
    ///   - collation: The order of types and strings.
    ///   - strings: The order of texts. Only `.unicode` asks it.
    public init(_ collation: Collation, strings: any StringCollator) {
        self.collation = collation
        self.strings = strings
    }

    /// Where the emitted key begins in the key of a row.
    ///
    /// - Parameter row: The key of a row of the index.
    /// - Returns: Its offset, which is that of the end where the row's key is damaged.
    package func start(in row: Span<UInt8>) -> Int {
        followsPartition ? min(row.count, row.firstZero(from: 0) + 1) : 0
    }

    /// Appends the encoding of a value, the same for all values that collate as equal.
    ///
    /// - Parameters:
    ///   - value: The value. Nested deeper than ``maximumDepth`` it is written, but not read back.
    ///   - key: Grows by the encoding.
    public func append(_ value: JSONValue, to key: inout [UInt8]) {
        var forms = NumberForms.ignored
        append(value, to: &key, &forms)
    }

    /// Appends the encoding of a value, and what it does not tell of the value's numbers.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - key: Grows by the encoding.
    ///   - forms: Grows by the numbers that are not plain.
    package func append(
        _ value: JSONValue, to key: inout [UInt8], _ forms: inout NumberForms
    ) {
        key.append(tag(of: value.collationType))
        switch value {
        case .null, .bool: break
        case .integer(let value): appendInteger(value, to: &key, &forms)
        case .double(let value): append(ExactNumber(value), to: &key, &forms)
        case .unsigned, .number: append(ExactNumber(value), to: &key, &forms)
        case .string(let text): text.withUTF8Span { appendText($0, to: &key) }
        case .array(let items):
            for item in items { append(item, to: &key, &forms) }
            key.append(RowKeyCoder.end)
        case .object(let object): appendPairs(object, to: &key, &forms)
        }
    }

    /// Appends what the encodings of all arrays that begin with these items begin with.
    ///
    /// The keys between this and its byte successor are the arrays with this beginning: a group of
    /// a grouped query, or the range of a query by prefix.
    ///
    /// - Parameters:
    ///   - items: The items that the arrays have in common.
    ///   - key: Grows by the prefix.
    public func appendPrefix(of items: some Sequence<JSONValue>, to key: inout [UInt8]) {
        key.append(tag(of: .array))
        for item in items { append(item, to: &key) }
    }

    private func appendPairs(
        _ object: JSONObject, to key: inout [UInt8], _ forms: inout NumberForms
    ) {
        for (name, value) in object.sortedPairs {
            key.append(tag(of: .string))
            name.withUTF8Span { appendText($0, to: &key) }
            append(value, to: &key, &forms)
        }
        key.append(RowKeyCoder.end)
    }
}

extension RowKeyCoder {
    /// Ends a text or a list; below every byte that may continue one.
    static let end: UInt8 = 0x00

    /// Says that the text stands behind its sort key, after the zero that ends that; another zero says that
    /// the sort key tells it. So the one text that is told precedes those that collate as equal.
    static let textFollows: UInt8 = 0x01

    /// The first byte of a type's encodings.
    func tag(of type: ValueType) -> UInt8 { collation.rank(of: type) << 4 }

    /// The type that a tag announces, or nil.
    func type(ofTag tag: UInt8) -> ValueType? {
        tag & 0x0F == 0 ? collation.type(ofRank: tag >> 4) : nil
    }
}
