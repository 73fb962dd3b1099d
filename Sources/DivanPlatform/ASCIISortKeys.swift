// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// Sort keys of the root collation for texts of ASCII, ten times as fast as asking ICU.
///
/// ICU walks through tables that serve every script. Each ASCII character has weights of its own,
/// whatever stands beside it, so a key is put together from a table of 128:
///
///     a B 7      2A 2C 21   01   07             01   C5 DC 06
///                primary         how many,           case: runs of common weights as a number, the
///                weights         all plain           case of each capital as it is
///
/// The table is taken from ICU's own keys. When it is made, keys of some hundred texts are compared with
/// ICU's, and if a single one differs, as it might with another version of ICU, all texts are left to
/// ICU.
///
/// Such a key also tells its text: the primary weights give the letters, and the cases the capitals. The
/// same texts are used to check this, and it is not done if one of them does not come back.
struct ASCIISortKeys: Sendable {
    /// The longest text that is handled here: longer ones need other numbers for runs.
    static let longestText = 96

    private static let levelEnds: UInt8 = 1
    /// The weight of a character that is neither accented nor a capital.
    private static let common: UInt8 = 5
    /// A run of n common weights is this plus n at the end of a level,
    private static let runAtEnd = 4
    /// and this less n before a higher weight.
    private static let runBefore = 0xC6
    /// The longest run of the second level; more are several.
    private static let longestSecondRun = 33

    /// One or two primary bytes for each character; 0 for one that is left to ICU.
    private var primaries = [UInt16](repeating: 0, count: 128)
    /// The weight of its case.
    private var cases = [UInt8](repeating: 0, count: 128)

    /// The characters of primary weights, with the common case and as capitals; 0 for none. The first 256
    /// are those of one byte, and so many more follow for each first byte of two.
    private var characters = [(plain: UInt8, capital: UInt8)](repeating: (0, 0), count: 256)
    /// Which 256 characters a first byte leads to; 0 for one that is a whole weight.
    private var pages = [UInt8](repeating: 0, count: 256)
    /// Whether the keys tell their texts.
    private(set) var tellsTexts = false

    /// Makes the table from ICU's keys.
    ///
    /// - Parameter sortKey: ICU's sort key of a text.
    init(_ sortKey: ([UInt8]) -> [UInt8]) {
        for character in UInt8(0)..<128 {
            guard let weights = Self.weights(sortKey([character])) else { continue }
            primaries[Int(character)] = weights.primary
            cases[Int(character)] = weights.case
        }
        for text in Self.samples {
            var key: [UInt8] = []
            if append(text.span, to: &key), key != sortKey(text) {
                primaries = Array(repeating: 0, count: 128)
                return
            }
        }
        tellsTexts = makeReverse() && (Self.samples + (0..<128).map { [$0] }).allSatisfy(isTold)
    }

    /// Whether the table can be used.
    var isUsable: Bool { primaries.contains { $0 != 0 } }

    /// Takes the key of one character apart: one or two bytes, 01 05 01, the case.
    private static func weights(_ key: [UInt8]) -> (primary: UInt16, case: UInt8)? {
        guard key.count == 5 || key.count == 6 else { return nil }
        let primary = key.dropLast(4)
        guard key.suffix(4).dropLast() == [levelEnds, common, levelEnds],
            primary.allSatisfy({ $0 > levelEnds }), let last = key.last,
            last >= common
        else { return nil }
        return (primary.reduce(0) { $0 << 8 | UInt16($1) }, last)
    }

    /// Texts of all characters, lengths and mixtures of case.
    private static var samples: [[UInt8]] {
        var state: UInt32 = 1
        func next(_ limit: UInt32) -> UInt32 {
            state = state &* 1_664_525 &+ 1_013_904_223
            return (state >> 8) % limit
        }
        return (0..<240).map { number in
            let capitals = UInt32(number % 8)
            return (0..<(1 + Int(next(UInt32(number % longestText) + 1)))).map { _ in
                if next(2) == 0 { return UInt8(32 + next(95)) }
                return UInt8(next(8) < capitals ? 65 + next(26) : 97 + next(26))
            }
        }
    }

    /// Appends the sort key of a text; false, and nothing appended, when ICU must make it.
    func append(_ text: Span<UInt8>, to key: inout [UInt8]) -> Bool {
        guard text.count > 0, text.count <= Self.longestText else { return false }
        let start = key.count
        for index in text.indices {
            let character = text[index]
            let primary = character < 128 ? primaries[Int(character)] : 0
            guard primary != 0 else {
                key.removeLast(key.count - start)
                return false
            }
            if primary > 0xFF { key.append(UInt8(truncatingIfNeeded: primary >> 8)) }
            key.append(UInt8(truncatingIfNeeded: primary))
        }
        key.append(Self.levelEnds)
        var rest = text.count
        while rest > Self.longestSecondRun {
            key.append(UInt8(Self.runAtEnd + Self.longestSecondRun))
            rest -= Self.longestSecondRun
        }
        key.append(UInt8(Self.runAtEnd + rest))
        key.append(Self.levelEnds)
        appendCases(of: text, to: &key)
        return true
    }

    private func appendCases(of text: Span<UInt8>, to key: inout [UInt8]) {
        var run = 0
        for index in text.indices {
            let weight = cases[Int(text[index])]
            if weight == Self.common {
                run += 1
                continue
            }
            if run > 0 { key.append(UInt8(Self.runBefore - run)) }
            run = 0
            key.append(weight)
        }
        if run > 0 { key.append(UInt8(Self.runAtEnd + run)) }
    }
}

// MARK: - Reading

extension ASCIISortKeys {
    /// A byte of the level of cases above this is a case; others are runs.
    private static let highestRun = UInt8(runBefore)
    /// A byte of that level up to this is a run at the end.
    private static let highestRunAtEnd = UInt8(runAtEnd + longestText)

    /// Fills the table that leads from weights to characters; false when two characters have one weight.
    private mutating func makeReverse() -> Bool {
        for character in UInt8(0)..<128 where primaries[Int(character)] != 0 {
            let (primary, weight) = (primaries[Int(character)], cases[Int(character)])
            if primary > 0xFF, pages[Int(primary >> 8)] == 0 {
                pages[Int(primary >> 8)] = UInt8(characters.count >> 8)
                characters += Array(repeating: (0, 0), count: 256)
            }
            let place = self.place(of: primary)
            if weight == Self.common {
                guard characters[place].plain == 0 else { return false }
                characters[place].plain = character
            } else {
                guard characters[place].capital == 0, weight > Self.highestRun else { return false }
                characters[place].capital = character
            }
        }
        // No weight of one byte begins one of two.
        return primaries.allSatisfy { $0 > 0xFF || pages[Int($0)] == 0 }
    }

    /// Where the characters of a primary weight stand.
    private func place(of primary: UInt16) -> Int {
        primary > 0xFF ? Int(pages[Int(primary >> 8)]) << 8 | Int(primary & 0xFF) : Int(primary)
    }

    private func isTold(_ text: [UInt8]) -> Bool {
        var key: [UInt8] = []
        guard append(text.span, to: &key) else { return true }
        return self.text(toldBy: key.span).map { Array($0.utf8) } == text
    }

    /// A text that is being read, of at most as many characters as ``longestText``.
    private typealias Characters = InlineArray<96, UInt8>

    /// The text that a sort key tells; nil for bytes that tell none.
    func text(toldBy key: Span<UInt8>) -> String? {
        var text = Characters(repeating: 0)
        var count = 0
        var offset = 0
        while offset < key.count, key[offset] != Self.levelEnds {
            var place = Int(key[offset])
            if pages[place] != 0 {
                offset += 1
                guard offset < key.count else { return nil }
                place = Int(pages[place]) << 8 | Int(key[offset])
            }
            offset += 1
            // The character as a small letter.
            let character = characters[place].plain
            guard character != 0, count < text.count else { return nil }
            text[count] = character
            count += 1
        }
        // The second level only says how many there are.
        offset += 1
        while offset < key.count, key[offset] != Self.levelEnds { offset += 1 }
        guard setCases(key, from: offset + 1, of: &text, count) else { return nil }
        return String(validUTF8: text.span.extracting(0..<count))
    }

    /// Makes capitals of the letters that are capitals; false when the cases do not fit their number.
    private func setCases(
        _ key: Span<UInt8>, from start: Int, of text: inout Characters, _ count: Int
    ) -> Bool {
        guard start < key.count else { return false }
        var index = 0
        for offset in start..<key.count {
            let byte = key[offset]
            if byte > Self.highestRun {
                guard index < count else { return false }
                let capital = characters[place(of: primaries[Int(text[index])])].capital
                guard capital != 0, cases[Int(capital)] == byte else { return false }
                text[index] = capital
                index += 1
            } else if byte > Self.highestRunAtEnd {
                index += Self.runBefore - Int(byte)
            } else {
                guard byte > Self.runAtEnd else { return false }
                index += Int(byte) - Self.runAtEnd
            }
        }
        return index == count
    }
}
