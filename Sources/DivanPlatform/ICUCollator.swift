// SPDX-License-Identifier: Apache-2.0

internal import CICU
public import DivanJSON

/// The order of texts by ICU's root collation, which is CouchDB's order.
///
/// The root collation belongs to no language: a database sorts the same on every device. It looks
/// at base letters first, then accents, then case with lower case first:
///
///     " " < "_" < "-" < "~" < "0" < "a" < "A" < "á" < "ab" < "b" < "α" < "あ"
///
/// Any thread may use it at any time: an opened collator is only read.
public struct ICUCollator: StringCollator {
    /// The library and the collation table, such as `icu-72.1-153.120`.
    public let version: String

    /// The root collation, opened on first use (a quarter of a millisecond) and kept.
    public static let root = ICUCollator()

    private init() {
        precondition(
            divan_root_open() == 1,
            "ICU cannot open its root collation: its data library is missing.")
        // SAFETY: 64 bytes are what the function asks for, and it writes a closing zero.
        version = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { text in
            guard let start = text.baseAddress else { return "" }
            unsafe divan_root_version(start)
            return unsafe String(cString: start)
        }
    }

    /// Compares two texts by the root collation.
    ///
    /// - Parameters:
    ///   - left: A text in UTF-8. Ill-formed bytes count as U+FFFD.
    ///   - right: Another text in UTF-8.
    /// - Returns: -1, 0 or 1.
    public func compare(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Int {
        // SAFETY: both buffers live until the call returns, and are only read.
        unsafe left.withUnsafeBufferPointer { left in
            unsafe right.withUnsafeBufferPointer { right in
                Int(
                    unsafe divan_root_compare(
                        left.baseAddress, left.count, right.baseAddress, right.count))
            }
        }
    }

    /// The keys of texts of ASCII, which nearly all are.
    private static let ascii = ASCIISortKeys { text in
        var key: [UInt8] = []
        root.appendAnySortKey(of: text.span, to: &key)
        return key
    }

    /// Appends the root collation's sort key of a text.
    ///
    /// A key of ASCII letters takes about one byte a letter and four to six more.
    ///
    /// - Parameters:
    ///   - text: A text in UTF-8. Ill-formed bytes count as U+FFFD.
    ///   - key: Grows by the sort key, which holds no zero byte.
    public func appendSortKey(of text: Span<UInt8>, to key: inout [UInt8]) {
        if ICUCollator.ascii.append(text, to: &key) { return }
        appendAnySortKey(of: text, to: &key)
    }

    /// Appends the sort key of a text of ASCII, which tells it.
    ///
    /// - Parameters:
    ///   - text: A text in UTF-8.
    ///   - key: Grows by the sort key, if the text is told by it.
    /// - Returns: Whether it is: of up to 96 characters of ASCII, none of which is ignored.
    public func appendTellingSortKey(of text: Span<UInt8>, to key: inout [UInt8]) -> Bool {
        ICUCollator.ascii.tellsTexts && ICUCollator.ascii.append(text, to: &key)
    }

    /// The text of ASCII that a sort key tells.
    ///
    /// - Parameter key: The sort key.
    /// - Returns: The text; nil for bytes that tell none.
    public func text(toldBy key: Span<UInt8>) -> String? {
        ICUCollator.ascii.tellsTexts ? ICUCollator.ascii.text(toldBy: key) : nil
    }

    /// Appends the sort key that ICU makes of a text.
    func appendAnySortKey(of text: Span<UInt8>, to key: inout [UInt8]) {
        // A key is rarely longer than three times its text; when it is, ICU says by how much.
        var room = 3 * text.count + 16
        var length = append(text, to: &key, room: room)
        while length >= room {
            room = length + 1
            length = append(text, to: &key, room: room)
        }
    }

    /// Appends the key if it is shorter than `room`, else nothing, and answers its length.
    private func append(_ text: Span<UInt8>, to key: inout [UInt8], room: Int) -> Int {
        // SAFETY: the scratch memory holds a unit for each byte of text, the most UTF-16 can need;
        // `room` bounds what ICU writes to `sortKey`; all three outlive the call.
        unsafe text.withUnsafeBufferPointer { text in
            unsafe withUnsafeTemporaryAllocation(of: UInt16.self, capacity: text.count + 1) {
                units in
                unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: room) { sortKey in
                    let length = unsafe divan_root_sort_key(
                        text.baseAddress, text.count, units.baseAddress,
                        sortKey.baseAddress, room)
                    precondition(length >= 0, "ICU ran out of memory while making a sort key.")
                    if length < room {
                        unsafe key.append(
                            contentsOf: UnsafeBufferPointer(rebasing: sortKey[..<length]))
                    }
                    return length
                }
            }
        }
    }
}
