// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// Addresses that some analyzers keep whole: of mail, and of pages.
enum AddressText {
    private static let marks = NameSet([
        ".", ",", ";", ":", "!", "?", "(", ")", "<", ">", "\"", "'",
    ])

    /// The address that a text without spaces is, but for punctuation around it; nil when it is none.
    static func address(in text: String) -> String? {
        var scalars = text.unicodeScalars[...]
        while let first = scalars.first, marks.contains(String(first)) { scalars.removeFirst() }
        while let last = scalars.last, marks.contains(String(last)) { scalars.removeLast() }
        let address = String(scalars)
        return isMail(address) || isPage(address) ? address : nil
    }

    private static func isMail(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty else { return false }
        return isHost(parts[1])
    }

    private static func isPage(_ text: String) -> Bool {
        for scheme in ["http://", "https://", "ftp://"]
        where text.lowercased().hasBytePrefix(scheme) {
            return text.utf8.count > scheme.utf8.count
        }
        return false
    }

    /// Whether a text is words of letters, digits and hyphens with periods between them.
    private static func isHost(_ text: Substring.UTF8View) -> Bool {
        let labels = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return labels.count > 1
            && labels.allSatisfy { label in
                !label.isEmpty
                    && label.allSatisfy { ClassicWords.isPlain($0) || $0 == UInt8(ascii: "-") }
            }
    }
}

/// Words as Lucene's classic analyzer cuts them out of a text without spaces: at punctuation, but not at a period between
/// letters, nor at a hyphen in a word that has a digit.
enum ClassicWords {
    /// Whether a byte is an ASCII letter or digit, or of another letter.
    static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), 0x80...:
            true
        default: false
        }
    }

    static func words(of text: String) -> [String] {
        let scalars = Array(text.unicodeScalars)
        let hasDigit = scalars.contains { $0.properties.numericType != nil }
        let isLetter = { (place: Int) -> Bool in
            guard scalars.indices.contains(place) else { return false }
            let properties = scalars[place].properties
            return properties.isAlphabetic || properties.numericType != nil
        }
        var words: [String] = []
        var word = String.UnicodeScalarView()
        for (place, scalar) in scalars.enumerated() {
            let joins: Bool =
                switch scalar {
                case ".", "'", "’", "&", "@", "_": true
                case "-", "/", ",": hasDigit
                default: false
                }
            if isLetter(place) || joins && isLetter(place - 1) && isLetter(place + 1) {
                word.append(scalar)
            } else if !word.isEmpty {
                words.append(String(word))
                word = String.UnicodeScalarView()
            }
        }
        if !word.isEmpty { words.append(String(word)) }
        return words
    }
}
