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
/// without a control character); a caller that needs exactness breaks the tie: see ``ValueOrder``.
///
/// A collator may know texts that their sort keys tell: the key alone gives the text back. Such a text is
/// *told by its sort key*, and need not be kept beside it.
///
/// ## Invariants
/// 1. `compare` is a total preorder.
/// 2. The byte order of two sort keys is the order that `compare` gives.
/// 3. A sort key holds no zero byte, so that a caller may end it with one.
/// 4. Of the texts with one sort key, at most one is told by it.
/// 5. While `version` stays the same, sort keys stay the same, in this process and the next.
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

    /// Appends the sort key of a text that is told by it.
    ///
    /// - Parameters:
    ///   - text: A text in UTF-8.
    ///   - key: Grows by the sort key, if it tells the text.
    /// - Returns: Whether it does; if not, nothing was appended.
    func appendTellingSortKey(of text: Span<UInt8>, to key: inout [UInt8]) -> Bool

    /// The text that a sort key tells.
    ///
    /// - Parameter key: What ``appendTellingSortKey(of:to:)`` has appended.
    /// - Returns: The text; nil for bytes that tell none.
    func text(toldBy key: Span<UInt8>) -> String?

    /// The library and table that made the sort keys, such as `icu-72.1-153.120`.
    ///
    /// Stored with an index: keys of another version do not mix, and the index is built anew.
    var version: String { get }
}

extension StringCollator {
    /// No text is told by its sort key, unless a collator knows better.
    public func appendTellingSortKey(of text: Span<UInt8>, to key: inout [UInt8]) -> Bool { false }

    /// Nothing is told.
    public func text(toldBy key: Span<UInt8>) -> String? { nil }
}
