// SPDX-License-Identifier: Apache-2.0

/// An order of texts for people: `a` beside `A`, `é` beside `e`.
///
/// This is the seam between ``ValueOrder``, which knows JSON, and the platform's Unicode library,
/// which knows languages. `DivanPlatform` implements it with ICU.
///
/// ```swift
/// let order = ValueOrder(.unicode, strings: ICUCollator.root)
/// ```
///
/// Texts are UTF-8. Different texts may collate as equal (`é` composed and decomposed, or with and
/// without a control character); whoever needs exactness breaks the tie by the bytes.
///
/// ## Invariants
/// 1. `compare` is a total preorder.
/// 2. The byte order of two sort keys is the order that `compare` gives.
/// 3. A sort key holds no zero byte, so that a caller may end it with one.
/// 4. While `version` stays the same, sort keys stay the same, in this process and the next.
public protocol StringCollator: Sendable {
    /// Compares two texts.
    ///
    /// - Parameters:
    ///   - left: A text in UTF-8.
    ///   - right: Another text in UTF-8.
    /// - Returns: A negative number if `left` sorts first, zero if they collate as equal, else a
    ///   positive number.
    func compare(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Int

    /// Appends bytes whose order is the order of the texts.
    ///
    /// - Parameters:
    ///   - text: A text in UTF-8.
    ///   - key: Grows by the sort key, which holds no zero byte. The caller ends it.
    func appendSortKey(of text: Span<UInt8>, to key: inout [UInt8])

    /// The library and table that made the sort keys, such as `icu-72.1-153.120`.
    ///
    /// Stored with an index: keys of another version do not mix, and the index is built anew.
    var version: String { get }
}
