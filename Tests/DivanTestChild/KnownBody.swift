// SPDX-License-Identifier: Apache-2.0

package import Divan

/// Bodies that follow from a document's ID and one number, so that any altered byte is noticed.
package enum KnownBody {
    /// The body of number `n` in document `id`; every fiftieth is too large for its row.
    package static func make(_ id: String, _ n: Int) -> JSONObject {
        ["self": .string(id), "n": .integer(Int64(n)), "text": .string(text(id, n))]
    }

    /// The long property of that body, which begins with the ID.
    package static func text(_ id: String, _ n: Int) -> String {
        let length = n % 50 == 0 ? 20_000 + n % 1_000 : n &* 31 % 400
        let letters = Array("abcdefghijklmnopqrstuvwxyz".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(length)
        for position in 0..<length { text.append(letters[(n &+ position &* 7) % 26]) }
        return "\(id) " + String(decoding: text, as: UTF8.self)
    }

    /// Whether a document has exactly the body that its ID and number call for.
    package static func isWhole(_ document: Document) -> Bool {
        if document.isDeleted && document.count == 0 { return true }
        guard let n = document["n"].int64 else { return false }
        return document.properties == make(document.id.text, Int(n))
    }
}

/// What there is to know of a document, on one line.
package enum DocumentState {
    /// ID, leaves (a tombstone with `!`), and the number in the current body.
    package static func line(_ id: DocumentID, in database: Database) throws -> String {
        guard let tree = try database.revisionTree(of: id) else { return "\(id) -" }
        let leaves = tree.leaves.map { "\($0.id)\($0.isTombstone ? "!" : "")" }
        let number = try database.document(withID: id)?["n"].int64
        return "\(id) \(leaves.joined(separator: ",")) \(number.map(String.init) ?? "-")"
    }
}
