// SPDX-License-Identifier: Apache-2.0

/// Finds words in a text, and the form in which words compare.
///
/// The seam between full text, which knows indexes, and the platform's Unicode library, which knows
/// languages. `DivanPlatform` implements it with ICU.
///
/// ## Invariants
/// 1. Words do not overlap, come in order, and lie at boundaries of characters.
/// 2. Folding a folded text changes nothing.
/// 3. While `version` stays the same, so do words and foldings, in this process and the next.
public protocol WordSegmenter: Sendable {
    /// Returns where the words of a text lie, as ranges of its bytes; spaces and punctuation are none.
    ///
    /// - Parameter text: A text in UTF-8.
    /// - Returns: The words in order.
    func words(in text: Span<UInt8>) -> [Range<Int>]

    /// Appends a text without differences of case and of compatible forms.
    ///
    /// - Parameters:
    ///   - text: A text in UTF-8.
    ///   - decomposing: Whether marks follow their letters as characters of their own.
    ///   - folded: Grows by the folded text.
    func appendFolding(of text: Span<UInt8>, decomposing: Bool, to folded: inout [UInt8])

    /// The library that found them, such as `icu-72.1-153.120`.
    var version: String { get }
}

/// Cuts words down to the stem that they share with their other forms: `connected` to `connect`.
public protocol WordStemmer: Sendable {
    /// Returns the stem of a folded word in UTF-8.
    func stem(of word: [UInt8]) -> [UInt8]
}
