// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON

/// What a path names: a pattern of the route table, and what its placeholders stand for.
///
///     path                            pattern                              database, names
///     /                               /
///     /_all_dbs                       /_all_dbs
///     /_divan/peers/9f2c               /_divan/peers/{id}                   [9f2c]
///     /_node/_local/_config/log/level  /_node/{node}/_config/{section}/{key}  [_local, log, level]
///     /notes                          /{db}                                notes
///     /notes/_changes                 /{db}/_changes                       notes
///     /notes/n1                       /{db}/{doc}                          notes, [n1]
///     /notes/n1/a/b.txt               /{db}/{doc}/{attachment}             notes, [n1, a/b.txt]
///     /notes/_design/d                /{db}/{doc}                          notes, [_design/d]
///     /notes/_design%2Fd/_view/v      /{db}/_design/{ddoc}/_view/{name}    notes, [d, v]
///     /notes/_design/d/_show/s/a/b    /{db}/_design/{ddoc}/_show/{name}/{id}  notes, [d, s, a/b]
///     /notes/_design/d/_list/l/v      /{db}/_design/{ddoc}/_list/{name}/{view}  notes, [d, l, v]
///     /notes/_design/d/_rewrite/a/b   /{db}/_design/{ddoc}/_rewrite/{path}    notes, [d, a, b]
///     /notes/_local/x                 /{db}/_local/{id}                    notes, [x]
///     /notes/_partition/p/_all_docs   /{db}/_partition/{partition}/_all_docs  notes, partition p
///     /notes/_partition/p/_design/d/_view/v  /{db}/_partition/{partition}/_design/{ddoc}/_view/{name}  notes, p, [d, v]
struct Resource: Sendable, Equatable {
    var pattern: String
    var database: String?
    @ByBytes var names: [String] = []
    /// The partition that the path is about; nil for the whole database.
    @ByBytes var partition: String?

    init(_ components: [String]) {
        guard let first = components.first else {
            pattern = "/"
            return
        }
        guard first.utf8.first != UInt8(ascii: "_") || SystemDatabase(rawValue: first) != nil else {
            if let server = Self.server(components) {
                (pattern, names) = server
                return
            }
            pattern = Self.scheduled(components) ?? Self.literal(components)
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
        if second == "_partition", rest.count > 1 {
            partition = rest[rest.startIndex + 1]
            (pattern, names) = Self.partitioned(Array(rest.dropFirst()))
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

    /// The pattern of a path to one thing that the scheduler knows; nil for any other path.
    private static func scheduled(_ components: [String]) -> String? {
        guard components.count > 2, components[0] == "_scheduler" else { return nil }
        switch components[1] {
        case "docs":
            return components.count == 3
                ? "/_scheduler/docs/{db}" : "/_scheduler/docs/{db}/{doc}"
        case "jobs" where components.count == 3: return "/_scheduler/jobs/{job}"
        default: return nil
        }
    }

    /// What lies below the listener itself and has names in its path; nil for all else.
    private static func server(_ words: [String]) -> (String, [String])? {
        let rest = Array(words.dropFirst())
        switch (words[0], rest.count) {
        case ("_divan", 2) where ["peers", "pairings"].contains(rest[0]):
            return ("/_divan/\(rest[0])/{id}", [rest[1]])
        case ("_utils", 1...): return ("/_utils/{path}", [rest.joined(separator: "/")])
        case ("_node", 1...): return node(rest[0], Array(rest.dropFirst()))
        case ("_reshard", 2) where rest[0] == "jobs": return ("/_reshard/jobs/{id}", [rest[1]])
        case ("_reshard", 3) where rest[0] == "jobs" && rest[2] == "state":
            return ("/_reshard/jobs/{id}/state", [rest[1]])
        default: return nil
        }
    }

    private static func node(_ node: String, _ rest: [String]) -> (String, [String]) {
        let base = "/_node/{node}"
        switch (rest.first, rest.count) {
        case ("_config"?, 2) where rest[1] != "_reload":
            return (base + "/_config/{section}", [node, rest[1]])
        case ("_config"?, 3):
            return (base + "/_config/{section}/{key}", [node, rest[1], rest[2]])
        case ("_stats"?, 2...): return (base + "/_stats/{path}", [node] + rest.dropFirst())
        default: return (base + literal(rest), [node])
        }
    }

    /// What a path names behind `_local`: an attachment, which no local document has, if more than an ID.
    private static func local(_ name: String, _ tail: [String]) -> (String, [String]) {
        tail.isEmpty
            ? ("/{db}/_local/{id}", [name])
            : (localAttachment, [name, tail.joined(separator: "/")])
    }

    /// The pattern of attachments of local documents, which no route has.
    static let localAttachment = "/{db}/_local/{id}/{attachment}"

    private static func document(_ id: String, _ tail: [String]) -> (String, [String]) {
        tail.isEmpty
            ? ("/{db}/{doc}", [id])
            : ("/{db}/{doc}/{attachment}", [id, tail.joined(separator: "/")])
    }

    /// What lies in a partition, by the name of that and the path behind it. A name that no partition has leads to the
    /// partition itself, which says so.
    private static func partitioned(_ words: [String]) -> (String, [String]) {
        let base = "/{db}/_partition/{partition}"
        let tail = Array(words.dropFirst())
        guard words[0].utf8.first != UInt8(ascii: "_"), let first = tail.first else {
            return (base, [])
        }
        if let name = first.afterBytePrefix("_design/") {
            let (pattern, names) = design(name, Array(tail.dropFirst()))
            return (base + pattern.dropFirst("/{db}".count), names)
        }
        guard first == "_design", tail.count > 1 else { return (base + literal(tail), []) }
        let (pattern, names) = design(tail[1], Array(tail.dropFirst(2)))
        return (base + pattern.dropFirst("/{db}".count), names)
    }

    private static func design(_ name: String, _ tail: [String]) -> (String, [String]) {
        guard let function = tail.first, function.hasBytePrefix("_") else {
            return document("_design/" + name, tail)
        }
        let base = "/{db}/_design/{ddoc}" + literal([function])
        let rest = Array(tail.dropFirst())
        switch function {
        case "_rewrite": return (base + "/{path}", [name] + rest)
        case "_show" where rest.count > 1, "_update" where rest.count > 1:
            return (
                base + "/{name}/{id}", [name, rest[0], rest[1...].joined(separator: "/")]
            )
        case "_list" where rest.count == 2: return (base + "/{name}/{view}", [name] + rest)
        case "_list" where rest.count == 3:
            return (base + "/{name}/{other}/{view}", [name] + rest)
        case "_list": return (base, [name])
        default: break
        }
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
        if parts[0] == "_shards", parts.count > 1 {
            return ("/{db}/_shards/{doc}", [parts[1...].joined(separator: "/")])
        }
        if parts[0] == "_compact", parts.count == 2 { return ("/{db}/_compact/{ddoc}", [parts[1]]) }
        if parts[0] == "_index", parts.count >= 4,
            ["json", "text", "nouveau"].contains(parts[parts.count - 2])
        {
            var design = parts[1..<(parts.count - 2)].joined(separator: "/")
            design = design.afterBytePrefix("_design/") ?? design
            let type = parts[parts.count - 2] == "json" ? "json" : "text"
            return ("/{db}/_index/{ddoc}/\(type)/{name}", [design, parts[parts.count - 1]])
        }
        return ("/{db}" + literal(parts), [])
    }
}
