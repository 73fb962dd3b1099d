// SPDX-License-Identifier: Apache-2.0

import Divan
import Foundation

/// Asks the database: a view, a grouped reduce, a text search, and a live query while the database changes.
struct QueryStep {
    var atlas: Database

    func run() throws {
        try view()
        try search()
        try follow()
    }

    private func view() throws {
        Demo.headline("A view: subdivisions by country and kind, counted")
        let kinds = atlas.view(named: "kindsByCountry")
        kinds.documentType = "subdivision"
        kinds.setMap(version: "1", reduce: .count) { document, emit in
            let country = document["code"].string?.prefix(2)
            emit([JSONValue.string(String(country ?? "")), document["kind"].value ?? .null], nil)
        }
        let building = try ContinuousClock().measure { try kinds.updateIndex() }
        Demo.fact("built", Demo.rate(kinds.statistics.documents, building, of: "documents"))
        Demo.fact("where the time went", "\(kinds.statistics)")

        var groups = kinds.query(.range(from: ["AT"], through: ["CH", [:]]))
        groups.grouping = .exact
        let found = try groups.run()
        for row in found.prefix(4) {
            let names = [row.key(at: 0), row.key(at: 1)].compactMap { $0?.string }
            Demo.fact("  " + names.joined(separator: " "), "\(row.value ?? .null)")
        }
        var countries = kinds.query()
        countries.groupLevel = 1
        var largest: QueryResult?
        let reducing = try ContinuousClock().measure { largest = try countries.run() }
        let most = largest?.max { ($0.value?.int64 ?? 0) < ($1.value?.int64 ?? 0) }
        Demo.fact("countries", Demo.rate(largest?.count ?? 0, reducing, of: "groups"))
        Demo.fact(
            "most subdivisions",
            "\(most?.key(at: 0)?.string ?? "none"), \(most?.value?.int64 ?? 0)")
    }

    private func search() throws {
        Demo.headline("Full text: names of everything, in English stems")
        let names = atlas.fullTextIndex(
            named: "names", on: ["name", "official_name", "common_name"],
            options: FullTextOptions(language: .english))
        let building = try ContinuousClock().measure { try names.updateIndex() }
        Demo.fact("built", Demo.rate(try atlas.documentCount, building, of: "documents"))
        for text in ["islands NOT language", "\"sign language\" -american", "osterreich OR aust*"] {
            var search = names.search(text)
            search.limit = 3
            let found = try search.run()
            Demo.fact(text, "\(found.totalMatches) of \(found.totalDocuments)")
            for row in found {
                Demo.fact("  \(row.documentID)", row.snippet(start: "[", end: "]") ?? "")
            }
        }
        guard try names.search("country OR islands").run().totalMatches > 0 else {
            throw DatabaseError(.corrupted, "The demo's text index finds nothing.")
        }
    }

    private func follow() throws {
        Demo.headline("A live query of currencies, while two are edited")
        let currencies = atlas.allDocumentsQuery(.range(from: "currency/", through: "currency/~"))
        let told = DispatchSemaphore(value: 0)
        let token = currencies.addChangeListener(interval: .zero) { result in
            if case .success(let update) = result {
                let change = update.difference
                Demo.fact(
                    "told",
                    "\(update.rows.count) rows: \(change.inserted.count) inserted, "
                        + "\(change.updated.count) updated, \(change.removed.count) removed")
            }
            told.signal()
        }
        defer { token.remove() }
        try wait(told)
        try atlas.update("currency/EUR") { $0["symbol"] = "€" }
        try wait(told)
        try atlas.save(MutableDocument(["type": "currency", "name": "Talent"], id: "currency/TAL"))
        try wait(told)
        try atlas.delete("currency/TAL")
        try wait(told)
        // The change touches no row of the query, so the app is not told.
        try atlas.update("country/AT") { $0["anthem"] = "Land der Berge" }
    }

    private func wait(_ told: DispatchSemaphore) throws {
        guard told.wait(timeout: .now() + 60) == .success else {
            throw DatabaseError(.io, "The live query told nothing for a minute.")
        }
    }
}
