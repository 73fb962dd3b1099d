// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
package import DivanJSON

/// The parameters of a query string, by name; of a name given twice the last value counts.
package struct QueryParameters: Sendable, Equatable {
    /// The values, decoded, by name.
    package private(set) var items: NameMap<String> = [:]

    /// No parameters.
    package init() {}

    /// Decodes the bytes of a query string.
    ///
    /// - Throws: `HTTPFailure` 400 for a malformed escape.
    package init(_ raw: ArraySlice<UInt8>) throws {
        // A semicolon parts parameters as well, as in CouchDB: one that belongs to a value is escaped.
        for item in raw.split(whereSeparator: { $0 == UInt8(ascii: "&") || $0 == UInt8(ascii: ";") }
        ) {
            let parts = item.split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = PercentEncoding.decodeRequest(parts[0], plusIsSpace: true),
                let value = PercentEncoding.decodeRequest(
                    parts.count > 1 ? parts[1] : [], plusIsSpace: true)
            else { throw HTTPFailure.badRequest("The query is not encoded as a URL's.") }
            items[name] = value
        }
    }

    /// The text of a parameter.
    package subscript(name: String) -> String? {
        get { items[name] }
        set { items[name] = newValue }
    }

    /// Whether a parameter is given, under this name or the other one that CouchDB has for it.
    func names(_ name: String) -> Bool {
        items[name] != nil || Self.twins[name].map { items[$0] != nil } ?? false
    }

    private static let twins: NameMap<String> = [
        "startkey": "start_key", "start_key": "startkey",
        "endkey": "end_key", "end_key": "endkey",
        "startkey_docid": "start_key_doc_id", "start_key_doc_id": "startkey_docid",
        "endkey_docid": "end_key_doc_id", "end_key_doc_id": "endkey_docid",
    ]

    /// A parameter that is `true` or `false`; false when it is not given.
    func flag(_ name: String, default: Bool = false) throws -> Bool {
        switch items[name]?.lowercased() {
        case nil: return `default`
        case "true": return true
        case "false": return false
        case let text?:
            throw HTTPFailure.queryParse("Invalid boolean parameter: \"\(text.prefix(60))\"")
        }
    }

    /// A parameter that is one of a few words; nil when it is not given.
    func choice(_ name: String, _ words: [String]) throws -> String? {
        guard let text = items[name] else { return nil }
        guard words.contains(text) else {
            throw HTTPFailure.queryParse(
                "Invalid value for `\(name)`: use \(words.joined(separator: " or ")).")
        }
        return text
    }

    /// A parameter that is a number of 0 or more.
    func count(_ name: String) throws -> Int? {
        guard let text = items[name] else { return nil }
        guard let number = Int(text, radix: 10) else {
            throw HTTPFailure.queryParse(
                "Invalid value for integer: \"\(text.prefix(60))\"")
        }
        guard number >= 0 else {
            throw HTTPFailure.queryParse(
                "Invalid value for positive integer: \"\(text.prefix(60))\"")
        }
        return number
    }

    /// Refuses parameters that ask a list without a reduce function to be reduced.
    func checkMapOnly() throws {
        if try flag("reduce") {
            throw HTTPFailure.queryParse("Reduce is invalid for map-only views.")
        }
        if try flag("group") || count("group_level") ?? 0 > 0 {
            throw HTTPFailure.queryParse("Invalid use of grouping on a map view.")
        }
    }

    /// A parameter written as JSON, under any of its names.
    func json(_ names: String...) throws -> JSONValue? {
        for name in names {
            guard let text = items[name] else { continue }
            do { return try JSONParser.parse(text) } catch {
                throw HTTPFailure.json(error, "The parameter `\(name)`")
            }
        }
        return nil
    }

    /// A parameter that is a text, bare or written as a JSON string, under any of its names.
    func text(_ names: String...) -> String? {
        for name in names {
            guard let text = items[name] else { continue }
            if text.hasBytePrefix("\""), let string = (try? JSONParser.parse(text))?.string {
                return string
            }
            return text
        }
        return nil
    }
}
