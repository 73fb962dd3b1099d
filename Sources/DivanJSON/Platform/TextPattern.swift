// SPDX-License-Identifier: Apache-2.0

/// A regular expression that was compiled and is looked for in texts.
///
/// This is the seam to the platform's library; `DivanPlatform` implements it with ICU, whose syntax is
/// nearly that of Perl. Any thread may use a pattern at any time.
public protocol TextPattern: Sendable {
    /// Says whether the pattern occurs anywhere in a text.
    ///
    /// - Parameter text: A text in UTF-8.
    /// - Returns: Whether it occurs; nil when finding out would take too many steps.
    func occurs(in text: Span<UInt8>) -> Bool?
}
