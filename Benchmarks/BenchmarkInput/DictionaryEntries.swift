// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Makes the JSON text of one dictionary entry after another: a real collection, with a natural distribution
/// of words.
///
/// The dictionary is that of Debian's package `dict-gcide`, the Collaborative International Dictionary of
/// English, which is made from Webster's of 1913. Its index has one line for each headword: the headword, and
/// where its entry begins and how long it is, in digits of base 64. Its texts are compressed so that gzip(1)
/// reads them.
public struct DictionaryEntries {
    /// How to get the texts, in one line.
    public static let advice = "they need the dictionary of Debian's package dict-gcide"

    private static let index = "/usr/share/dictd/gcide.index"
    private static let texts = "/usr/share/dictd/gcide.dict.dz"

    /// How many entries there are; 0 where the package is not installed.
    public static let count = (try? ranges().count) ?? 0

    private let texts: Data
    private let ranges: [Range<Int>]
    private var position = 0

    /// Reads the dictionary. `count` entries come, spread evenly over all of them.
    public init(spread count: Int) throws {
        texts = try Self.unpacked()
        let all = try Self.ranges()
        ranges = (0..<count).map { all[$0 * all.count / count] }
        guard all.allSatisfy({ $0.upperBound <= texts.count }) else {
            throw InputFile.InvalidInput(path: Self.texts)
        }
    }

    /// Returns the next entry's document.
    public mutating func next() throws -> String {
        let text = String(decoding: texts[ranges[position]], as: UTF8.self)
        position += 1
        let quoted = String(decoding: try JSONEncoder().encode(text), as: UTF8.self)
        return "{\"type\":\"entry\",\"bio\":\(quoted)}"
    }

    /// Where the entries lie, in the order of the texts. Several headwords may have one entry.
    private static func ranges() throws -> [Range<Int>] {
        let lines = try String(contentsOfFile: index, encoding: .utf8).split(separator: "\n")
        let ranges = lines.compactMap { line -> Range<Int>? in
            let fields = line.split(separator: "\t")
            guard fields.count == 3, let start = number(fields[1]), let length = number(fields[2])
            else { return nil }
            return start..<start + length
        }
        return Set(ranges).sorted {
            ($0.lowerBound, $0.upperBound) < ($1.lowerBound, $1.upperBound)
        }
    }

    private static let digits = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    private static func number(_ text: Substring) -> Int? {
        text.utf8.reduce(0 as Int?) { number, digit in
            guard let number, number < 1 << 40, let value = digits.firstIndex(of: digit)
            else { return nil }
            return number << 6 | value
        }
    }

    private static func unpacked() throws -> Data {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: "/bin/gzip")
        process.arguments = ["--decompress", "--stdout"]
        process.standardInput = try FileHandle(forReadingFrom: URL(filePath: texts))
        process.standardOutput = output
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw InputFile.InvalidInput(path: texts) }
        return data
    }
}
