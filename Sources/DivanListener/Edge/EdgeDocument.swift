// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel

/// One of the two documents of `_replicator` by which an edge keeps a database in step with its hub.
///
///     {"_id": "hub-pull-orders", "source": "https://hub.example.org/orders", "target": "orders",
///      "continuous": true, "hub": "8d3c…"}
///
/// `hub` says that the edge has written the document, and what: a digest of all else. After an administrator has edited it, the
/// digest is not that of the document any more, and the edge leaves it alone.
struct EdgeDocument: Sendable {
    enum Direction: String, Sendable, CaseIterable {
        case pull
        case push
    }

    /// The member that says that the edge has written a document.
    static let mark = "hub"

    let direction: Direction
    /// The name of the database.
    let name: String

    var id: DocumentID { DocumentID("hub-\(direction)-\(name)") }

    /// The first and the last ID that such a document can have.
    static let range = (DocumentID("hub-"), DocumentID("hub-\u{7F}"))

    /// The document that has an ID; nil where it is none of these.
    init?(_ id: DocumentID) {
        for direction in Direction.allCases {
            guard let name = id.text.afterBytePrefix("hub-\(direction)-") else { continue }
            (self.direction, self.name) = (direction, String(name))
            return
        }
        return nil
    }

    init(_ direction: Direction, _ name: String) {
        self.direction = direction
        self.name = name
    }

    /// What it says by an edge's rules.
    func body(_ rules: EdgeRules) -> JSONObject {
        let (here, there) = (JSONValue.string(name), JSONValue.string(rules.url(of: name)))
        var body: JSONObject = ["continuous": true]
        switch direction {
        case .push:
            body["source"] = here
            body["target"] = there
        case .pull:
            body["source"] = there
            body["target"] = here
            if name.hasSameBytes(as: SystemDatabase.users.rawValue) {
                body["selector"] = .object(Self.users)
            } else if let selector = rules.hub.selector {
                body["selector"] = .object(selector)
            } else if let filter = rules.hub.filter {
                body["filter"] = .string(filter)
                let parameters = rules.hub.filterParameters
                if !parameters.isEmpty { body["query_params"] = .object(parameters) }
            }
        }
        body[Self.mark] = .string(Self.digest(of: body))
        return body
    }

    /// The mark that it has by an edge's rules.
    func digest(_ rules: EdgeRules) -> String { body(rules)[Self.mark]?.string ?? "" }

    /// The users of a hub, also deleted ones, whose documents have no more than their IDs; and not the design document beside
    /// them, which each server has of its own.
    private static let users: JSONObject = [
        "_id": ["$gte": .string(UserDocument.prefix), "$lt": .string(UserDocument.end.text)]
    ]

    /// Whether a document is as the edge has written it, whatever has become of its replication.
    static func isUnedited(_ body: JSONObject) -> Bool {
        body[mark]?.string.hasSameBytes(as: digest(of: body)) ?? false
    }

    private static func digest(of body: JSONObject) -> String {
        var told = ReplicatorDatabase.request(in: body)
        told[mark] = nil
        return HexText.text(Fingerprint.of(JSONValue.object(told).description))
    }
}
