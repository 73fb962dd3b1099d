// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON

/// How numbers are written in a query.
package struct SearchNumbers: Sendable {
    /// The sign before the fraction, and one that may stand between digits.
    private let (point, group): (UInt8, UInt8)

    private init(point: Character, group: Character) {
        self.point = point.asciiValue ?? 0
        self.group = group.asciiValue ?? 0
    }

    /// With a period.
    package static let plain = SearchNumbers(point: ".", group: "\0")

    /// As a language writes them.
    ///
    /// - Parameter locale: `us` or `de`, for instance.
    /// - Throws: `DatabaseError` with code `.invalidQuery` when that is not known.
    package init(locale: String) throws {
        let language = locale.lowercased().prefix { $0 != "-" && $0 != "_" }
        switch String(language) {
        case "us", "gb", "en", "ie", "au", "nz", "ja", "jp", "zh", "cn", "ko", "kr", "he", "th":
            self.init(point: ".", group: ",")
        case "de", "es", "it", "nl", "id", "tr", "el", "gr", "da", "dk", "pt", "br":
            self.init(point: ",", group: ".")
        default:
            throw DatabaseError(
                .invalidQuery,
                "Nothing is known of numbers in the locale '\(locale.prefix(40))'; leave it out, and write them with a period."
            )
        }
    }

    /// The number that a text is; `Infinity` is one; nil for any other text.
    func number(_ text: String) -> Double? {
        switch text {
        case "Infinity", "+Infinity": return .infinity
        case "-Infinity": return -.infinity
        default: break
        }
        guard text.utf8.count <= 64, let number = value(text), number.isFinite else { return nil }
        return number
    }

    /// Whether a text is written as a number, and has a value beyond all.
    func isTooLarge(_ text: String) -> Bool {
        guard text.utf8.count <= 1_024, let number = value(text) else { return false }
        return !number.isFinite
    }

    /// The value of a text in digits; it is infinite when it is too large.
    private func value(_ text: String) -> Double? {
        var plain: [UInt8] = []
        for byte in text.utf8 where byte != group {
            switch byte {
            case point: plain.append(UInt8(ascii: "."))
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"),
                UInt8(ascii: "e"), UInt8(ascii: "E"):
                plain.append(byte)
            default: return nil
            }
        }
        guard plain.contains(where: { $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        return Double(String(decoding: plain, as: UTF8.self))
    }
}
