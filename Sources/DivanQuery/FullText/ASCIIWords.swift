// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanPlatform

/// Finds the words of a text that is all ASCII, as the platform's segmenter does, which is asked once what it makes of
/// each character.
///
/// Unicode's rules (UAX 29) come down to this for ASCII: letters, digits and characters that extend words stand
/// together. Between two letters, or between two digits, one character of certain others joins them, as in
/// `don't` and `3.14`.
struct ASCIIWords: Sendable {
    /// What a character is.
    private struct Kind: OptionSet, Sendable {
        let rawValue: UInt8

        static let letter = Kind(rawValue: 1)
        static let digit = Kind(rawValue: 2)
        /// Goes on with words of both, and is no word by itself.
        static let extender = Kind(rawValue: 4)
        static let joinsLetters = Kind(rawValue: 8)
        static let joinsDigits = Kind(rawValue: 16)
        static let inWords: Kind = [.letter, .digit, .extender]
    }

    private let kinds: [Kind]
    /// Whether extenders alone are a word if they are several.
    private let hasWordsOfExtenders: Bool

    /// The words of the shared segmenter.
    static let shared = ASCIIWords(ICUWordSegmenter.shared)

    init(_ segmenter: some WordSegmenter) {
        func isOneWord(_ text: [UInt8]) -> Bool {
            segmenter.words(in: text.span) == [0..<text.count]
        }
        hasWordsOfExtenders = isOneWord(Array("__".utf8))
        let (a, one) = (UInt8(ascii: "a"), UInt8(ascii: "1"))
        kinds = (0..<0x80).map { (byte: UInt8) in
            let isAlone = isOneWord([byte])
            // A digit is told from a letter by a comma, which joins digits only.
            if isAlone { return isOneWord([one, UInt8(ascii: ","), byte]) ? .digit : .letter }
            if isOneWord([a, byte]) { return .extender }
            var kind: Kind = []
            if isOneWord([a, byte, a]) { kind.insert(.joinsLetters) }
            if isOneWord([one, byte, one]) { kind.insert(.joinsDigits) }
            return kind
        }
    }

    /// Appends where the words of a text lie.
    ///
    /// - Returns: False when the text is not all ASCII; then the words are not to be used.
    func append(in text: Span<UInt8>, to words: inout [Range<Int>]) -> Bool {
        var index = 0
        let kinds = kinds.span
        while index < text.count {
            let byte = text[index]
            guard byte < 0x80 else { return false }
            guard !kinds[Int(byte)].isDisjoint(with: .inWords) else {
                index += 1
                continue
            }
            let start = index
            var last = kinds[Int(byte)]
            var all = last
            index += 1
            while index < text.count {
                guard text[index] < 0x80 else { return false }
                let kind = kinds[Int(text[index])]
                if !kind.isDisjoint(with: .inWords) {
                    last = kind
                    index += 1
                } else if index + 1 < text.count, text[index + 1] < 0x80,
                    Self.joins(kind, last, kinds[Int(text[index + 1])])
                {
                    last = kinds[Int(text[index + 1])]
                    index += 2
                } else {
                    break
                }
                all.formUnion(last)
            }
            let isWord = all != .extender || (hasWordsOfExtenders && index - start > 1)
            if isWord { words.append(start..<index) }
        }
        return true
    }

    private static func joins(_ kind: Kind, _ before: Kind, _ after: Kind) -> Bool {
        (kind.contains(.joinsLetters) && before == .letter && after == .letter)
            || (kind.contains(.joinsDigits) && before == .digit && after == .digit)
    }
}
