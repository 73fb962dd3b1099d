// SPDX-License-Identifier: Apache-2.0

/// Finds the delimiters of a multipart body: `CRLF --boundary`, then `--` or white space and CRLF.
struct DelimiterScanner: Sendable {
    /// A delimiter, with the line end before it and the one behind it.
    struct Delimiter {
        var start: Int
        var end: Int
        var isLast: Bool
    }

    /// What a search gives.
    enum Finding {
        case found(Delimiter)
        /// There is none; so many bytes from the start cannot belong to one that is still to come.
        case none(safe: Int)
    }

    private enum Match {
        case whole(Delimiter)
        case partial
        case none
    }

    /// More white space than this after a boundary makes the line content.
    private static let paddingLimit = 256
    private static let carriageReturn = UInt8(ascii: "\r")
    private static let lineFeed = UInt8(ascii: "\n")
    private static let hyphen = UInt8(ascii: "-")

    /// Two hyphens and the boundary.
    let dashedBoundary: [UInt8]
    private let delimiter: [UInt8]

    /// No delimiter has more bytes: with all white space, and both line ends.
    var longestDelimiter: Int { delimiter.count + Self.paddingLimit + 3 }

    init(boundary: String) {
        dashedBoundary = [Self.hyphen, Self.hyphen] + Array(boundary.utf8)
        delimiter = [Self.carriageReturn, Self.lineFeed] + dashedBoundary
    }

    /// Finds the first delimiter.
    ///
    /// - Parameters:
    ///   - bytes: What to search.
    ///   - isAtLineStart: Whether a line end stands before the first byte, which a delimiter may use.
    /// - Returns: The first delimiter, or how far there is none.
    func find(in bytes: ArraySlice<UInt8>, isAtLineStart: Bool) -> Finding {
        let span = bytes.span
        if isAtLineStart {
            switch match(dashedBoundary, span, at: 0) {
            case .whole(let found): return .found(found.moved(by: bytes.startIndex))
            case .partial: return .none(safe: 0)
            case .none: break
            }
        }
        var position = 0
        while position < span.count {
            guard span[position] == Self.carriageReturn else {
                position += 1
                continue
            }
            switch match(delimiter, span, at: position) {
            case .whole(let found): return .found(found.moved(by: bytes.startIndex))
            case .partial: return .none(safe: position)
            case .none: position += 1
            }
        }
        return .none(safe: span.count)
    }

    private func match(_ pattern: [UInt8], _ bytes: Span<UInt8>, at start: Int) -> Match {
        for offset in pattern.indices {
            guard start + offset < bytes.count else { return .partial }
            guard bytes[start + offset] == pattern[offset] else { return .none }
        }
        return matchEnd(bytes, from: start, at: start + pattern.count)
    }

    /// What stands behind a boundary makes it a delimiter, or content that begins like one.
    private func matchEnd(_ bytes: Span<UInt8>, from start: Int, at end: Int) -> Match {
        guard end < bytes.count else { return .partial }
        if bytes[end] == Self.hyphen {
            guard end + 1 < bytes.count else { return .partial }
            guard bytes[end + 1] == Self.hyphen else { return .none }
            return .whole(Delimiter(start: start, end: end + 2, isLast: true))
        }
        var position = end
        while position < bytes.count, bytes[position] == 0x20 || bytes[position] == 0x09 {
            position += 1
            guard position - end <= Self.paddingLimit else { return .none }
        }
        guard position < bytes.count else { return .partial }
        guard bytes[position] == Self.carriageReturn else { return .none }
        guard position + 1 < bytes.count else { return .partial }
        guard bytes[position + 1] == Self.lineFeed else { return .none }
        return .whole(Delimiter(start: start, end: position + 2, isLast: false))
    }
}

extension DelimiterScanner.Delimiter {
    fileprivate func moved(by distance: Int) -> Self {
        Self(start: start + distance, end: end + distance, isLast: isLast)
    }
}
