// SPDX-License-Identifier: Apache-2.0

import Divan
import Foundation

/// One file of Debian's iso-codes package, and how its records become documents.
struct OpenData {
    /// The file's name after `iso_`, which is also its only key.
    var name: String
    /// The documents' `type`.
    var type: String
    /// The member that identifies a record in its file.
    var key: String

    static let all = [
        OpenData(name: "3166-1", type: "country", key: "alpha_2"),
        OpenData(name: "3166-2", type: "subdivision", key: "code"),
        OpenData(name: "639-3", type: "language", key: "alpha_3"),
        OpenData(name: "639-5", type: "language-family", key: "alpha_3"),
        OpenData(name: "4217", type: "currency", key: "alpha_3"),
        OpenData(name: "15924", type: "script", key: "alpha_4"),
    ]

    /// The size of the file, 0 when it is missing.
    func size(in folder: String) -> Int {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path(in: folder))
        return (attributes?[.size] as? NSNumber)?.intValue ?? 0
    }

    /// Reads the file's records as new documents, `country/AT` and the like.
    func documents(in folder: String) throws -> [MutableDocument] {
        let text = try Data(contentsOf: URL(fileURLWithPath: path(in: folder)))
        let file = try JSONParser.parse([UInt8](text))
        return file[name]?.array?.compactMap { record in
            guard var properties = record.object, let id = properties[key]?.string else {
                return nil
            }
            // A member called type tells the kind of a subdivision or a language.
            properties["kind"] = properties["type"]
            properties["type"] = .string(type)
            return MutableDocument(properties, id: "\(type)/\(id)")
        } ?? []
    }

    private func path(in folder: String) -> String { "\(folder)/iso_\(name).json" }
}
