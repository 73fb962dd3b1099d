// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON

/// What the function of a search index has said of a document: one call of `index`.
struct SearchField {
    enum Content {
        /// Words, as the field's analyzer finds them.
        case words(String)
        /// A text that is one term.
        case text(String)
        case number(Double)
        /// Nothing that can be searched for.
        case unsearched(JSONValue)
    }

    let name: String
    let content: Content
    /// How much a match counts.
    var boost = 1.0
    /// Whether results show the value.
    var isStored = false
    /// Whether results are counted by it.
    var isFacet = false
    /// Whether results can be sorted by it.
    var isSorted = true

    /// What results show, if it is not plainly the content: Nouveau's numbers are fractions.
    var shown: JSONValue?

    init(_ name: String, _ content: Content, isSorted: Bool) {
        self.name = name
        self.content = content
        self.isSorted = isSorted
    }

    /// Reads one call of `index`; nil for what is none.
    init?(_ emitted: PackedValue, for service: SearchService) {
        switch service {
        case .clouseau: self.init(clouseau: emitted)
        case .nouveau: self.init(nouveau: emitted)
        }
    }

    /// `["name", value, {"store": true, "index": false, "facet": true, "boost": 2}]`
    private init?(clouseau emitted: PackedValue) {
        guard let name = emitted[0]?.string, let value = emitted[1] else { return nil }
        let options = emitted[2]
        let (store, index) = (options?["store"], options?["index"])
        let isIndexed = !(index?.bool == false || index?.string.hasSameBytes(as: "no") ?? false)
        let isWhole = index?.string?.hasBytePrefix("not_analyzed") ?? false
        self.name = name
        if let text = value.string {
            content =
                !isIndexed ? .unsearched(.string(text)) : isWhole ? .text(text) : .words(text)
        } else if let flag = value.bool {
            let text = flag ? "true" : "false"
            content = isIndexed ? .text(text) : .unsearched(.string(text))
        } else if let number = value.double, number.isFinite {
            content = isIndexed ? .number(number) : .unsearched(SearchKey.value(number))
        } else {
            return nil
        }
        boost = options?["boost"]?.double.map { $0.isFinite && $0 > 0 ? min($0, 1e6) : 1 } ?? 1
        isStored =
            store?.bool ?? (store?.string.map { $0.lowercased() == "yes" || $0 == "true" } ?? false)
        isFacet = options?["facet"]?.bool ?? false
    }

    /// `{"@type": "string", "name": "a", "value": "b", "store": true}`
    private init?(nouveau emitted: PackedValue) {
        guard let name = emitted["name"]?.string, let value = emitted["value"],
            let type = emitted["@type"]?.string
        else { return nil }
        self.name = name
        isStored = emitted["store"]?.bool ?? false
        switch type {
        case "text":
            content = .words(value.string ?? "")
            isSorted = false
        case "string":
            content = .text(value.string ?? "")
            isFacet = true
        case "double":
            guard let number = value.double, number.isFinite else { return nil }
            content = .number(number)
            isFacet = true
            shown = .double(number)
        case "stored":
            let json = value.jsonValue()
            content = .unsearched(json.string == nil ? .double(json.double ?? 0) : json)
            isStored = true
            isSorted = false
        default: return nil
        }
    }

    /// The content as JSON.
    var value: JSONValue {
        switch content {
        case .words(let text), .text(let text): .string(text)
        case .number(let number): SearchKey.value(number)
        case .unsearched(let value): value
        }
    }
}
