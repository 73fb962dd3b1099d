// SPDX-License-Identifier: Apache-2.0

public import DivanJSON

/// A revision of a document that was seen on the wire.
public struct WiredDocument: Sendable {
    /// The document as it went, with `_id` and `_rev`.
    public var json: JSONValue
    /// The contents that followed it, or were fetched by themselves.
    public var contents: [String: [UInt8]]

    /// The document with all contents inside.
    public var whole: JSONValue {
        guard case .object(var object) = json, case .object(var stubs)? = object["_attachments"]
        else { return json }
        for (name, bytes) in contents {
            guard case .object(var stub)? = stubs[name] else { continue }
            for key in ["follows", "stub"] { stub[key] = nil }
            stub["data"] = .string(Base64.encode(bytes))
            stubs[name] = .object(stub)
        }
        object["_attachments"] = .object(stubs)
        return .object(object)
    }
}

extension WireScript {
    /// The documents that were fetched from a database, or sent to it, each revision once, as whole as it was seen.
    ///
    /// - Parameters:
    ///   - database: The database's name.
    ///   - pushed: Whether only those that were sent count.
    public func documents(of database: String, pushed: Bool = false) -> [WiredDocument] {
        var found: [WiredDocument] = []
        func take(_ message: WireMessage) {
            let contents = message.contents
            for json in message.documents.flatMap(Self.documents) {
                let document = WiredDocument(json: json, contents: contents)
                let place = found.firstIndex {
                    $0.json["_id"] == json["_id"] && $0.json["_rev"] == json["_rev"]
                }
                guard let place else {
                    found.append(document)
                    continue
                }
                // A later answer may have what the first one only names.
                if !contents.isEmpty { found[place] = document }
            }
        }
        for exchange in exchanges where exchange.components.first == database {
            if exchange.isSending { take(exchange.request) }
            if !pushed, exchange.isFetching { take(exchange.answer) }
        }
        for exchange in exchanges where exchange.components.count == 3 {
            guard exchange.method == "GET", case .text(let text) = exchange.answer.body else {
                continue
            }
            for index in found.indices
            where found[index].json["_id"]?.string == exchange.components[1] {
                found[index].contents[exchange.components[2]] = Array(text.utf8)
            }
        }
        return found
    }

    /// The documents in a body: itself, those of a list, of rows, or of a `_bulk_get`.
    private static func documents(_ value: JSONValue) -> [JSONValue] {
        if value["_revisions"] != nil { return [value] }
        let lists = [value["docs"], value["rows"], value["results"]].compactMap { $0?.array }
        return lists.joined().flatMap { element in
            [element, element["doc"] ?? .null]
                + (element["docs"]?.array ?? []).map { $0["ok"] ?? .null }
        }.filter { $0["_rev"] != nil }
    }

    /// The IDs of all documents.
    public var ids: Set<String> {
        let names = Set(exchanges.compactMap(\.components.first))
        return Set(names.flatMap { documents(of: $0) }.compactMap { $0.json["_id"]?.string })
    }
}

extension WireExchange {
    /// Whether it sends documents.
    public var isSending: Bool {
        route == "_bulk_docs" || (method == "PUT" && target.contains("new_edits=false"))
    }

    /// Whether it fetches documents.
    public var isFetching: Bool {
        status == 200
            && (["_bulk_get", "_all_docs"].contains(route)
                || (method == "GET" && route == "doc" && components.count == 2))
    }
}
