// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON

/// Texts by section and key, as CouchDB's configuration has them.
///
/// A text that is not what its key asks for counts as if it were not there, as in CouchDB.
struct ConfigurationTable: Sendable {
    /// The sections.
    var sections: NameMap<NameMap<String>> = [:]

    /// How many keys there are.
    var count: Int { sections.values.reduce(0) { $0 + $1.count } }

    /// How many bytes the names and the texts have.
    var byteCount: Int {
        sections.reduce(0) { sum, section in
            section.value.reduce(sum) {
                $0 + section.key.utf8.count + $1.key.utf8.count + $1.value.utf8.count
            }
        }
    }

    /// The text of a key; nil where there is none, and setting nil removes it.
    subscript(section: String, key: String) -> String? {
        get { sections[section]?[key] }
        set {
            sections[section, default: [:]][key] = newValue
            if sections[section]?.isEmpty ?? false { sections[section] = nil }
        }
    }

    /// The text of a key in the first of some sections that has it: CouchDB renamed some of them.
    func text(_ key: String, in sections: [String]) -> String? {
        for section in sections {
            if let text = self[section, key] { return text }
        }
        return nil
    }

    /// A key that is `true` or `false`.
    func flag(_ key: String, in sections: [String]) -> Bool? {
        switch text(key, in: sections) {
        case "true": true
        case "false": false
        default: nil
        }
    }

    /// The highest number that a key can be.
    static let mostCount = 1 << 53

    /// A key that is a number from 1 to ``mostCount``.
    func count(_ key: String, in sections: [String]) -> Int? {
        guard let number = text(key, in: sections).flatMap({ Int($0, radix: 10) }),
            (1...Self.mostCount).contains(number)
        else { return nil }
        return number
    }

    /// A key that is a number of percent.
    func percent(_ key: String, in sections: [String]) -> Int? {
        text(key, in: sections).flatMap { Int($0, radix: 10) }
            .flatMap { (0...100).contains($0) ? $0 : nil }
    }

    /// A key that is a list of words with commas between them.
    func words(_ key: String, in sections: [String]) -> [String]? {
        visible(key, in: sections).map(Self.words(of:))
    }

    /// The words of a text, with commas between them.
    static func words(of text: String) -> [String] {
        text.utf8.split(separator: UInt8(ascii: ",")).map { word in
            let bytes = word.drop { $0 == UInt8(ascii: " ") }
            let spaces = bytes.reversed().prefix { $0 == UInt8(ascii: " ") }.count
            return String(decoding: bytes.dropLast(spaces), as: UTF8.self)
        }.filter { !$0.isEmpty }
    }

    /// A key whose text may stand in a header field.
    func visible(_ key: String, in sections: [String]) -> String? {
        text(key, in: sections).flatMap { text in
            text.utf8.allSatisfy { (0x20..<0x7F).contains($0) } ? text : nil
        }
    }

    /// A key that is the name of a header field.
    func field(_ key: String, in sections: [String]) -> String? {
        text(key, in: sections).flatMap { HTTPHeaders.isName($0) ? $0 : nil }
    }

    /// The keys of another table in place of the same ones here.
    func replaced(by other: ConfigurationTable) -> ConfigurationTable {
        var table = self
        for (section, keys) in other.sections {
            for (key, text) in keys { table[section, key] = text }
        }
        return table
    }
}

// Where some keys are: the first section is that of CouchDB 3, the others are those of earlier releases.
extension ConfigurationTable {
    static let server = ["chttpd", "httpd"]
    static let authentication = ["chttpd_auth", "couch_httpd_auth"]
    static let cors = ["cors"]
    static let couchdb = ["couchdb"]
    static let disk = ["disk_monitor"]
}
