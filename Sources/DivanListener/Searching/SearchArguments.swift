// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// What a search is asked, in the query or in a body: the same names, with values as texts or as JSON.
struct SearchArguments {
    private let parameters: QueryParameters
    private let body: JSONObject?
    /// Parameters of a query that are JSON.
    private static let json: NameSet = [
        "sort", "limit", "include_fields", "counts", "ranges", "drilldown", "group_sort",
        "group_limit",
        "highlight_fields", "top_n", "include_docs", "update",
    ]

    init(query: QueryParameters) {
        parameters = query
        body = nil
    }

    init(body: JSONObject) {
        parameters = QueryParameters()
        self.body = body
    }

    /// The value of an argument under any of its names; nil where there is none.
    ///
    /// - Throws: `HTTPFailure` 400 for a parameter that should be JSON and is not.
    func value(_ names: String...) throws -> JSONValue? {
        for name in names {
            if let body {
                if let value = body[name], value != .null { return value }
            } else if let text = parameters[name] {
                guard Self.json.contains(name) else { return .string(text) }
                guard let value = try? JSONParser.parse(text) else {
                    throw HTTPFailure.queryParse("Invalid value for \(name): it is no JSON.")
                }
                if value != .null { return value }
            }
        }
        return nil
    }

    /// A text.
    func text(_ names: String...) throws -> String? {
        for name in names {
            guard let value = try value(name) else { continue }
            guard let text = value.string else { throw Self.invalid(name) }
            return text
        }
        return nil
    }

    /// `true` or `false`.
    func flag(_ name: String) throws -> Bool? {
        guard let value = try value(name) else { return nil }
        guard let flag = value.bool else { throw Self.invalid(name) }
        return flag
    }

    /// A whole number.
    func integer(_ name: String) throws -> Int? {
        guard let value = try value(name) else { return nil }
        guard let number = value.int64 else { throw Self.invalid(name) }
        return Int(clamping: number)
    }

    /// A list of texts; one text stands for a list of it.
    func texts(_ name: String) throws -> [String]? {
        guard let value = try value(name) else { return nil }
        if let text = value.string { return [text] }
        guard let items = value.array else { throw Self.invalid(name) }
        return try items.map { item in
            guard let text = item.string else { throw Self.invalid(name) }
            return text
        }
    }

    /// A list of fields, each of which is there once.
    ///
    /// - Throws: `HTTPFailure` 400 for no such list, or one of too many.
    func fields(_ name: String) throws -> [String]? {
        guard let names = try texts(name) else { return nil }
        var seen: NameSet = []
        let fields = names.filter { seen.insert($0).inserted }
        try Self.checkFields(fields.count, name)
        return fields
    }

    /// The most fields that are counted, or drilled down to: what is asked of each is asked of every hit.
    private static let mostFields = 32

    /// Refuses too many fields.
    static func checkFields(_ count: Int, _ name: String) throws {
        guard count <= mostFields else {
            throw HTTPFailure.badRequest("`\(name)` may have \(mostFields) fields.")
        }
    }

    /// The most ranges that are counted, of all fields together: each is asked of every hit, too.
    private static let mostRanges = 1_024

    /// Refuses too many ranges.
    static func checkRanges(_ count: Int) throws {
        guard count <= mostRanges else {
            throw HTTPFailure.badRequest(
                "`ranges` may have \(mostRanges) labels in all; ask for others in another search."
            )
        }
    }

    /// The refusal of a value.
    static func invalid(_ name: String) -> HTTPFailure {
        .queryParse("Invalid value for \(name).")
    }
}
