// SPDX-License-Identifier: Apache-2.0

public import DivanJSON

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A recorded conversation of two peers: the scripts of `Tests/Scripts/wire`, which `scripts/wire-scripts` makes.
///
/// ```
/// > PUT /wire/multi?new_edits=false              the request: its line, the fields that matter …
/// > Content-Type: multipart/related
/// -- Content-Type: application/json              … and its body, here of two parts, each with its fields
/// {"_id":"multi","_rev":"3-…", …}                JSON
/// -- Content-Disposition: attachment; filename="big.bin" | Content-Type: application/octet-stream
/// @5000                                          content that was made anew: so many bytes by a formula
/// < 201                                          the answer: its status, its fields, its body
/// < Content-Type: application/json
/// {"ok":true,"id":"multi","rev":"3-…"}
/// ```
///
/// `~` begins content in Base64, and `= ` a line of text. A body is shown decoded; a field `Content-Encoding: gzip` says
/// how it went. `---- ` begins a part of a part.
public struct WireScript: Sendable {
    /// The file's name without its ending.
    public let name: String
    /// What was asked and answered, in the order in which it was asked.
    public let exchanges: [WireExchange]

    /// Reads a script.
    ///
    /// - Parameter name: The file's name without its ending.
    /// - Throws: An error of the file system, or of a body that is no JSON.
    public init(named name: String) throws {
        self.name = name
        let url = TestFolder.tests.appending(path: "Scripts/wire/\(name).txt")
        let text = String(decoding: try Data(contentsOf: url), as: UTF8.self)
        exchanges = try text.split(separator: "\n\n").filter { $0.hasPrefix("> ") }.map {
            try WireExchange($0.split(separator: "\n").map(String.init))
        }
    }
}

/// A request with its answer.
public struct WireExchange: Sendable {
    /// The request's method.
    public let method: String
    /// The request's target, undecoded.
    public let target: String
    /// The request.
    public let request: WireMessage
    /// The answer's status.
    public let status: Int
    /// The answer.
    public let answer: WireMessage

    init(_ lines: [String]) throws {
        var lines = lines[...]
        let words = lines.removeFirst().split(separator: " ")
        (method, target) = (String(words[1]), String(words[2]))
        request = try WireMessage(&lines, mark: "> ")
        status = Int(lines.removeFirst().dropFirst(2)) ?? 0
        answer = try WireMessage(&lines, mark: "< ")
    }

    /// The path's components below the root, undecoded; the first one names the database.
    public var components: [String] {
        target.prefix { $0 != "?" }.split(separator: "/").map(String.init)
    }

    /// What is asked for: the component that begins with an underscore, `/` for the server, `db` for the database and
    /// `doc` for anything else.
    public var route: String {
        guard let first = components.first else { return "/" }
        guard components.count > 1 else { return first.hasPrefix("_") ? first : "db" }
        return components[1].hasPrefix("_") ? components[1] : "doc"
    }
}

/// The fields and the body of a request, an answer or a part.
public struct WireMessage: Sendable {
    /// A body, decoded.
    public indirect enum Body: Sendable {
        /// No body.
        case none
        /// A JSON text.
        case json(JSONValue)
        /// Any other text.
        case text(String)
        /// Bytes as they go.
        case bytes([UInt8])
        /// Parts.
        case parts([WireMessage])
    }

    /// The header fields.
    public var fields: [(name: String, value: String)]
    /// The body.
    public var body: Body

    /// Makes a message.
    public init(fields: [(name: String, value: String)], body: Body) {
        self.fields = fields
        self.body = body
    }

    /// The value of a field.
    public subscript(name: String) -> String? {
        fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// The JSON documents of the body, those of its parts among them, in their order.
    public var documents: [JSONValue] {
        switch body {
        case .json(let value): [value]
        case .parts(let parts): parts.flatMap(\.documents)
        default: []
        }
    }

    /// The contents that follow a document, by their names.
    public var contents: [String: [UInt8]] {
        guard case .parts(let parts) = body else { return [:] }
        var contents: [String: [UInt8]] = [:]
        for part in parts {
            contents.merge(part.contents) { $1 }
            guard let name = part["Content-Disposition"]?.split(separator: "filename=").last,
                case .bytes(let bytes) = part.body
            else { continue }
            contents[String(name.filter { $0 != "\"" })] = bytes
        }
        return contents
    }

    /// The bytes that stand for a content that was made anew.
    public static func made(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7 + $0 / 251) }
    }
}
