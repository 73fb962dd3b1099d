// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON

/// What a path names: a pattern of the route table, and what its placeholders stand for.
///
///     path                            pattern                              database, names
///     /                               /
///     /_all_dbs                       /_all_dbs
///     /notes                          /{db}                                notes
///     /notes/_changes                 /{db}/_changes                       notes
///     /notes/n1                       /{db}/{doc}                          notes, [n1]
///     /notes/n1/a/b.txt               /{db}/{doc}/{attachment}             notes, [n1, a/b.txt]
///     /notes/_design/d                /{db}/{doc}                          notes, [_design/d]
///     /notes/_design%2Fd/_view/v      /{db}/_design/{ddoc}/_view/{name}    notes, [d, v]
///     /notes/_local/x                 /{db}/_local/{id}                    notes, [x]
struct Resource: Sendable, Equatable {
    var pattern: String
    var database: String?
    @ByBytes var names: [String] = []

    init(_ components: [String]) {
        guard let first = components.first else {
            pattern = "/"
            return
        }
        guard first.utf8.first != UInt8(ascii: "_") || SystemDatabase(rawValue: first) != nil else {
            let isDocument = components.count > 2 && components[..<2] == ["_scheduler", "docs"]
            pattern =
                isDocument ? "/_scheduler/docs/{db}/{doc}" : Self.literal(components)
            return
        }
        database = first
        let rest = components.dropFirst()
        guard let second = rest.first else {
            pattern = "/{db}"
            return
        }
        guard second.utf8.first == UInt8(ascii: "_") else {
            (pattern, names) = Self.document(second, Array(rest.dropFirst()))
            return
        }
        for reserved in ["_design", "_local"] {
            var tail = rest
            var name: String?
            if second == reserved, rest.count > 1 {
                name = rest[rest.startIndex + 1]
                tail = rest.dropFirst(2)
            } else if let encoded = second.afterBytePrefix(reserved + "/") {
                name = encoded
                tail = rest.dropFirst()
            }
            guard let name else { continue }
            if reserved == "_local" {
                (pattern, names) = Self.local(name, Array(tail))
            } else {
                (pattern, names) = Self.design(name, Array(tail))
            }
            return
        }
        (pattern, names) = Self.function(Array(rest))
    }

    private static func local(_ name: String, _ tail: [String]) -> (String, [String]) {
        ("/{db}/_local/{id}", [([name] + tail).joined(separator: "/")])
    }

    private static func document(_ id: String, _ tail: [String]) -> (String, [String]) {
        tail.isEmpty
            ? ("/{db}/{doc}", [id])
            : ("/{db}/{doc}/{attachment}", [id, tail.joined(separator: "/")])
    }

    private static func design(_ name: String, _ tail: [String]) -> (String, [String]) {
        guard let function = tail.first, function.hasBytePrefix("_") else {
            return document("_design/" + name, tail)
        }
        let base = "/{db}/_design/{ddoc}" + literal([function])
        switch tail.count {
        case 1: return (base, [name])
        case 2: return (base + "/{name}", [name, tail[1]])
        default: return (base + "/{name}" + literal(tail.dropFirst(2)), [name, tail[1]])
        }
    }

    /// Words of a path as words of a pattern.
    ///
    /// What a client writes into one word is never two, nor a placeholder: the routes have neither escapes
    /// nor anything that is escaped here.
    private static func literal(_ words: some Sequence<String>) -> String {
        words.reduce(into: "") { $0 += "/" + PercentEncoding.encode($1) }
    }

    private static func function(_ parts: [String]) -> (String, [String]) {
        if parts[0] == "_compact", parts.count == 2 { return ("/{db}/_compact/{ddoc}", [parts[1]]) }
        if parts[0] == "_index", parts.count >= 4, parts[parts.count - 2] == "json" {
            var design = parts[1..<(parts.count - 2)].joined(separator: "/")
            design = design.afterBytePrefix("_design/") ?? design
            return ("/{db}/_index/{ddoc}/json/{name}", [design, parts[parts.count - 1]])
        }
        return ("/{db}" + literal(parts), [])
    }
}
