// SPDX-License-Identifier: Apache-2.0

internal import CICU
public import DivanJSON
internal import Synchronization

/// A regular expression of ICU.
///
/// ```swift
/// let pattern = try ICUPattern("^A.*n$")
/// pattern.occurs(in: Array("Ann".utf8).span)       // true
/// ```
///
/// An expression that backtracks without end gives up after about a second for one text. ICU's
/// matcher has state, so threads that share a pattern take turns.
public final class ICUPattern: TextPattern {
    /// Why a text is no regular expression.
    public struct Failure: Error, Hashable, CustomStringConvertible {
        /// The UTF-16 unit at which it goes wrong; nil when ICU does not say.
        public let offset: Int?

        /// Whether it is longer than ``ICUPattern/longest``.
        public let isTooLong: Bool

        /// One sentence without the expression.
        public var description: String {
            if isTooLong {
                return "A regular expression has at most \(ICUPattern.longest) bytes."
            }
            return offset.map { "It is no regular expression: see character \($0 + 1)." }
                ?? "It is no regular expression."
        }
    }

    /// The most bytes that an expression has in UTF-8. ICU compiles it in a time that grows with the square of its length,
    /// without a limit.
    public static let longest = 16_384

    private let expression: Mutex<Expression>

    /// Compiles a regular expression.
    ///
    /// - Parameters:
    ///   - pattern: The expression in ICU's syntax.
    ///   - ignoringCase: Whether letters match in either case.
    /// - Throws: ``Failure`` when it is none, or too long.
    public init(_ pattern: String, ignoringCase: Bool = false) throws(Failure) {
        guard pattern.utf8.count <= Self.longest else {
            throw Failure(offset: nil, isTooLong: true)
        }
        expression = Mutex(try Expression(pattern, ignoringCase: ignoringCase))
    }

    /// Says whether the pattern occurs anywhere in a text.
    public func occurs(in text: Span<UInt8>) -> Bool? {
        expression.withLock { $0.occurs(in: text) }
    }
}

/// The one owner of ICU's compiled expression.
@safe
private struct Expression: ~Copyable {
    private let handle: OpaquePointer

    init(_ pattern: String, ignoringCase: Bool) throws(ICUPattern.Failure) {
        var offset: Int32 = -1
        // ICU refuses the empty text; an empty group occurs everywhere, too.
        let units = Array((pattern.isEmpty ? "(?:)" : pattern).utf16)
        // SAFETY: the units outlive the call, which copies what it keeps.
        let opened = unsafe units.withUnsafeBufferPointer { units in
            unsafe divan_pattern_open(
                units.baseAddress, units.count, ignoringCase ? 1 : 0, &offset)
        }
        guard let opened = unsafe opened else {
            throw ICUPattern.Failure(
                offset: offset < 0 ? nil : Int(offset), isTooLong: false)
        }
        unsafe handle = opened
    }

    deinit {
        unsafe divan_pattern_close(handle)
    }

    func occurs(in text: Span<UInt8>) -> Bool? {
        // SAFETY: the text outlives the call, which keeps nothing of it.
        let result = unsafe text.withUnsafeBufferPointer { text in
            unsafe divan_pattern_find(handle, text.baseAddress, text.count)
        }
        return result < 0 ? nil : result == 1
    }
}
