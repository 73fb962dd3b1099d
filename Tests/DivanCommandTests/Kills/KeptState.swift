// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestChild

/// What one leaf revision holds.
struct KeptLeaf: Equatable, Sendable {
    var generation = 1
    var isDeleted = false
    /// The document that the body was made for, and its number; nil for a body without properties.
    var author: String?
    var number: Int?
    /// The number of each attachment's content.
    var attachments: [String: Int] = [:]

    /// The properties of such a body, but for its attachments.
    var properties: JSONObject {
        guard let author, let number else { return [:] }
        return KnownBody.make(author, number)
    }
}

/// What a local document holds.
struct KeptLocal: Equatable, Sendable {
    var revision: Int
    var number: Int
}

/// What the documents, local documents and settings of one client are to be.
///
/// Leaves are named by their revision IDs. A change whose answer has not come makes a leaf whose revision ID
/// its client does not know: it is named `?`.
struct KeptState: Equatable, Sendable {
    static let unknown = "?"

    var documents: [String: [String: KeptLeaf]] = [:]
    var locals: [String: KeptLocal] = [:]
    /// Indexes, the security object, limits: by name, as texts.
    var settings: [String: String] = [:]

    /// Says where something that was read differs; nil when it does not.
    ///
    /// - Parameter found: What is in the database.
    /// - Returns: What differs, for a message.
    func difference(to found: KeptState) -> String? {
        for id in Set(documents.keys).union(found.documents.keys).sorted() {
            let (mine, other) = (documents[id] ?? [:], found.documents[id] ?? [:])
            if !Self.isSame(mine, other) { return "\(id) is \(other), not \(mine)" }
        }
        if locals != found.locals { return "local documents are \(found.locals), not \(locals)" }
        if settings != found.settings { return "settings are \(found.settings), not \(settings)" }
        return nil
    }

    private static func isSame(_ expected: [String: KeptLeaf], _ found: [String: KeptLeaf]) -> Bool
    {
        guard let new = expected[unknown] else { return expected == found }
        var rest = found
        for (revision, leaf) in expected where revision != unknown {
            guard rest.removeValue(forKey: revision) == leaf else { return false }
        }
        return rest.count == 1 && rest.values.first == new
    }

    /// Gives the new leaf of a document its revision ID.
    mutating func name(_ revision: String, of id: String) {
        guard let leaf = documents[id]?.removeValue(forKey: Self.unknown) else { return }
        documents[id]?[revision] = leaf
    }

    /// Replaces a leaf, or adds one beside the others.
    mutating func replace(_ base: String?, of id: String, by leaf: KeptLeaf, named name: String) {
        if let base { documents[id]?[base] = nil }
        documents[id, default: [:]][name] = leaf
    }
}

/// Contents of attachments that follow from one number, so that half of one is noticed.
enum KillContent {
    /// The content of a number: mostly short, some longer than a piece of a stream.
    static func bytes(_ number: Int) -> [UInt8] {
        let length =
            switch number % 20 {
            case 0..<14: 8 + number * 37 % 3_000
            case 14..<19: 70_000 + number
            default: 700_000 + number
            }
        let head = (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
        return head + [UInt8](repeating: UInt8(number % 251), count: length - 8)
    }

    /// The number of a content; nil when it is not whole.
    static func number(of content: [UInt8]) -> Int? {
        guard content.count >= 8 else { return nil }
        let number = (0..<8).reduce(0) { $0 | Int(content[$1]) << ($1 * 8) }
        return number >= 0 && number < 1 << 40 && bytes(number) == content ? number : nil
    }
}

/// What a database holds, read by the library.
struct FoundState {
    /// Something that no client has ever written.
    struct NotWhole: Error, CustomStringConvertible {
        var description: String
    }

    var documents: [String: [String: KeptLeaf]] = [:]
    /// The number in the winning revision of each live document that has one.
    var numbers: [String: Int] = [:]

    init(_ database: Database) throws {
        var options = AllDocumentsOptions()
        options.includeDeleted = true
        // Design documents are those of indexes, which have answers of their own.
        for row in try database.allDocuments(options) where !row.id.isDesign {
            var leaves: [String: KeptLeaf] = [:]
            for leaf in try database.leafRevisions(of: row.id) {
                leaves[leaf.revisionID.description] = try Self.read(leaf)
            }
            documents[row.id.text] = leaves
            if let leaf = leaves[row.revisionID.description], !leaf.isDeleted {
                numbers[row.id.text] = leaf.number
            }
        }
    }

    static func read(_ document: Document) throws -> KeptLeaf {
        var leaf = KeptLeaf()
        leaf.generation = Int(document.revisionID.generation)
        leaf.isDeleted = document.isDeleted
        leaf.author = document["self"].string
        leaf.number = document["n"].int64.map { Int($0) }
        var properties = document.properties
        properties["_attachments"] = nil
        guard properties == leaf.properties else {
            throw NotWhole(description: "\(document.id) \(document.revisionID) is not whole.")
        }
        for attachment in document.attachments {
            guard let number = KillContent.number(of: try attachment.content()) else {
                throw NotWhole(
                    description:
                        "An attachment of \(document.id) \(document.revisionID) is not whole.")
            }
            leaf.attachments[attachment.name] = number
        }
        return leaf
    }
}
