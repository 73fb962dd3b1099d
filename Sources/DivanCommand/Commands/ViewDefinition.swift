// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanJSON

/// A view that a JSON object defines, since a shell has no map functions.
///
/// ```json
/// {"key": ["owner", "date"], "value": "total", "type": "order", "each": "lines", "reduce": "sum"}
/// ```
///
/// Key paths name members of members with a point. The same text always gives the same index; with
/// another one it is built anew. The text is the view's version, so that a stored view can be asked
/// again without it.
struct ViewDefinition: Sendable {
    static let help = """
        FILE is a JSON object: "key" is a key path such as "address.city", or an array of key paths \
        for an array of keys; "value" is the key path of the value, if any; "type" restricts the view \
        to documents of that type; "each" is the key path of an array, whose elements emit a row each, \
        with "key" and "value" then looked up in the element (the empty path is the element itself) and \
        after that in the document; "reduce" is one of count, sum, statistics, minimum, maximum, average, \
        median, standardDeviation, approximateDistinctCount.
        """

    private static let reduces: NameMap<Reduce> = [
        "count": .count, "sum": .sum, "statistics": .statistics, "minimum": .minimum,
        "maximum": .maximum, "average": .average, "median": .median,
        "standardDeviation": .standardDeviation,
        "approximateDistinctCount": .approximateDistinctCount,
    ]
    private static let members: NameSet = ["key", "value", "type", "each", "reduce"]

    private let json: JSONObject
    private let keys: [String]
    private let isArray: Bool
    private let value: String?
    private let each: String?

    init(_ json: JSONObject) throws(CommandFailure) {
        self.json = json
        if let other = json.first(where: { !Self.members.contains($0.key) })?.key {
            throw CommandFailure(.badInput, "A view has no \"\(other)\". \(Self.help)")
        }
        switch json["key"] {
        case .string(let path)?: (keys, isArray) = ([path], false)
        case .array(let paths)? where paths.allSatisfy({ $0.string != nil }):
            (keys, isArray) = (paths.compactMap(\.string), true)
        default:
            throw CommandFailure(.badInput, "A view needs a \"key\". \(Self.help)")
        }
        value = try Self.text("value", json)
        each = try Self.text("each", json)
        _ = try Self.text("type", json)
        if let reduce = try Self.text("reduce", json), Self.reduces[reduce] == nil {
            throw CommandFailure(.badInput, "There is no reduce \"\(reduce)\". \(Self.help)")
        }
    }

    private static func text(_ name: String, _ json: JSONObject) throws(CommandFailure) -> String? {
        guard let value = json[name] else { return nil }
        guard let text = value.string else {
            throw CommandFailure(.badInput, "\"\(name)\" of a view is text. \(help)")
        }
        return text
    }

    /// The definition that a stored view's version is the text of; nil when an app made the view.
    init?(version: String) {
        guard case .object(let json)? = try? JSONParser.parse(version),
            let definition = try? ViewDefinition(json)
        else { return nil }
        self = definition
    }

    /// Gives a view its functions.
    func apply(to view: DatabaseView) {
        let (keys, isArray, value, each) = (keys, isArray, value, each)
        view.documentType = json["type"]?.string
        view.setMap(
            version: JSONWriter.string(.object(json)),
            reduce: json["reduce"]?.string.flatMap { Self.reduces[$0] }
        ) { document, emit in
            let whole = JSONValue.object(document.properties)
            var elements: [JSONValue] = [whole]
            if let each {
                guard case .array(let found)? = Self.look(each, in: whole) else { return }
                elements = found
            }
            for element in elements {
                let found = keys.map { path in
                    Self.look(path, in: element) ?? Self.look(path, in: whole)
                }
                // A document without the first key has no place in the view.
                guard let first = found.first, let first else { continue }
                let key = isArray ? JSONValue.array(found.map { $0 ?? .null }) : first
                let value = value.flatMap {
                    Self.look($0, in: element) ?? Self.look($0, in: whole)
                }
                emit(key, value)
            }
        }
    }

    /// The value at a key path; the empty path is the value itself.
    private static func look(_ path: String, in value: JSONValue) -> JSONValue? {
        var value = value
        for part in path.split(separator: ".") {
            guard let member = value[String(part)] else { return nil }
            value = member
        }
        return value
    }
}
