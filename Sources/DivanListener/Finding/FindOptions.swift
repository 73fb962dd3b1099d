// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanQuery

/// Reads the options of a request about queries or their indexes; what is wrong has CouchDB's names.
struct FindOptions {
    let body: JSONObject

    init(_ body: JSONObject) { self.body = body }

    /// Refuses what is no option.
    func allow(only keys: NameSet) throws {
        guard let key = body.keys.first(where: { !keys.contains($0) }) else { return }
        throw HTTPFailure(
            400, "invalid_key", "Invalid key \(key.prefix(100)) for this request.")
    }

    func flag(_ key: String, _ default: Bool) throws -> Bool {
        guard let value = body[key] else { return `default` }
        guard let flag = value.bool else {
            throw HTTPFailure(400, "invalid_boolean", "Invalid boolean value: \(value.shown)")
        }
        return flag
    }

    func count(_ key: String, atLeast least: Int64 = 0) throws -> Int? {
        guard let value = body[key] else { return nil }
        guard let number = value.int64, number >= least else {
            throw least == 0
                ? HTTPFailure(
                    400, "invalid_non_neg_integer",
                    "\(value.shown) is not an integer greater than or equal to zero")
                : HTTPFailure(
                    400, "invalid_pos_integer",
                    "\(value.shown) is not an integer greater than zero")
        }
        return Int(clamping: number)
    }

    func text(_ key: String) throws -> String? {
        guard let value = body[key] else { return nil }
        guard let text = value.string else {
            throw HTTPFailure(400, "invalid_string", "Invalid string: \(value.shown)")
        }
        return text
    }

    /// A text that is not empty.
    func name(_ key: String) throws -> String? {
        let text = try text(key)
        guard text?.isEmpty != true else {
            throw HTTPFailure(
                400, "invalid_empty_string", "Index name or ddoc cannot be empty string")
        }
        return text
    }

    // MARK: - Of queries

    func fields() throws -> [String]? {
        guard let json = body["fields"] else { return nil }
        guard let fields = json.array else {
            throw HTTPFailure(
                400, "invalid_fields", "Fields must be an array of strings, not: \(json.shown)")
        }
        guard !fields.isEmpty else { return nil }
        return try fields.map { field in
            guard let text = field.string else {
                throw HTTPFailure(
                    400, "invalid_field", "Invalid JSON for field spec: \(field.shown)")
            }
            _ = try FieldPath(text)
            return text
        }
    }

    func bookmark() throws -> String? {
        guard let json = body["bookmark"], json != .null else { return nil }
        guard let text = json.string else { throw HTTPFailure.invalidBookmark(json) }
        return text.isEmpty || text == "nil" ? nil : text
    }

    func stale() throws -> Bool {
        switch body["stale"] {
        case nil, false?, "false"?: return false
        case "ok"?: return true
        case let value?:
            throw HTTPFailure(
                400, "invalid_ok_or_false_value",
                "Invalid value for stale: \(value.shown), should be \"ok\" or false")
        }
    }

    /// The names of an index: those of its design document, and perhaps its own.
    func indexNames(_ key: String) throws -> [String] {
        try body[key].map(Self.indexNames) ?? []
    }

    /// Reads `"design"`, `"_design/design"`, `"design/name"`, or an array of one or two names.
    static func indexNames(_ json: JSONValue) throws -> [String] {
        if let text = json.string {
            var parts = text.utf8.split(
                separator: UInt8(ascii: "/"), omittingEmptySubsequences: false
            ).map { String(Substring($0)) }
            if parts.count > 1, parts[0] == "_design" { parts.removeFirst() }
            if parts.count <= 2 { return parts }
        } else if json == .null {
            return []
        } else if let items = json.array, items.count <= 2 {
            let names = items.compactMap(\.string)
            if names.count == items.count { return names }
        }
        throw HTTPFailure(400, "invalid_index_name", "Invalid index name: \(json.shown)")
    }
}

extension SortKey {
    /// Reads what documents are sorted by, or an index: fields in one direction.
    static func list(_ json: JSONValue) throws -> [SortKey] {
        guard let items = json.array else {
            throw HTTPFailure(
                400, "invalid_sort_json",
                "Sort must be an array of sort specs, not: \(json.shown)")
        }
        let keys = try items.map { try key($0) }
        guard Set(keys.map(\.isDescending)).count < 2 else {
            throw HTTPFailure(
                400, "unsupported_mixed_sort",
                "Sorts currently only support a single direction for all fields.")
        }
        return keys
    }

    private static func key(_ json: JSONValue) throws -> SortKey {
        if let path = json.string, !path.isEmpty {
            _ = try FieldPath(path)
            return SortKey(path)
        }
        guard let object = json.object, object.count == 1, let (path, direction) = object.first,
            direction == "asc" || direction == "desc"
        else {
            throw HTTPFailure(400, "invalid_sort_field", "Invalid sort field: \(json.shown)")
        }
        _ = try FieldPath(path)
        return SortKey(path, isDescending: direction == "desc")
    }
}

extension HTTPFailure {
    static func invalidBookmark(_ value: JSONValue) -> HTTPFailure {
        HTTPFailure(400, "invalid_bookmark", "Invalid bookmark value: \(value.shown)")
    }
}
