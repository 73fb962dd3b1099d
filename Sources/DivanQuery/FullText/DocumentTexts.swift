// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanStorage

/// Finds the texts of a document at key paths.
struct DocumentTexts: Sendable {
    private let paths: PackedTexts

    init(_ keyPaths: [String]) {
        let names = keyPaths.map { $0.split(separator: ".").map(String.init) }
        // Attachments are no properties of a document.
        paths = PackedTexts(names.filter { $0.first != "_attachments" })
    }

    /// Lends the texts of a packed body, in the order of the key paths.
    func forEach(in body: Span<UInt8>, _ use: (Span<UInt8>) -> Void) {
        paths.forEach(in: body, use)
    }

    /// The texts in the order of the key paths.
    func texts(of document: Document) -> [String] {
        var texts: [String] = []
        document.body.withBytes { body in
            forEach(in: body) {
                texts.append(String(decoding: [UInt8](copying: $0), as: UTF8.self))
            }
        }
        return texts
    }
}
