// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON

/// Finds the texts of a document at key paths.
struct DocumentTexts: Sendable {
    private let keyPaths: [[String]]

    init(_ keyPaths: [String]) {
        self.keyPaths = keyPaths.map { $0.split(separator: ".").map(String.init) }
    }

    /// The texts in the order of the key paths.
    func texts(of document: Document) -> [String] {
        var texts: [String] = []
        for path in keyPaths {
            guard let first = path.first, let value = document[first].value else { continue }
            Self.collect(value, path.dropFirst(), &texts)
        }
        return texts
    }

    private static func collect(
        _ value: JSONValue, _ path: ArraySlice<String>, _ texts: inout [String]
    ) {
        switch value {
        case .array(let elements): for element in elements { collect(element, path, &texts) }
        case .string(let text): if path.isEmpty { texts.append(text) }
        case .object(let members):
            guard let next = path.first, let member = members[next] else { return }
            collect(member, path.dropFirst(), &texts)
        default: return
        }
    }
}

/// Emits the rows of one document: see ``FullTextIndex``.
struct FullTextEmission {
    /// The gap between the texts of a document, in words: no phrase or nearness reaches over it.
    static let gap = 1_000

    private let analyzer: TextAnalyzer

    init(_ analyzer: TextAnalyzer) { self.analyzer = analyzer }

    func emit(_ texts: [String], to sink: EmissionSink) {
        var places: NameMap<[JSONValue]> = [:]
        var (place, count) = (0, 0)
        for text in texts {
            for word in analyzer.words(of: text) {
                // A word that is left out keeps its place, so that phrases with it can be found.
                if let term = word.term {
                    places[term, default: []].append(.integer(Int64(place)))
                    count += 1
                }
                place += 1
            }
            place += Self.gap
        }
        guard count > 0 else { return }
        let length = JSONValue.integer(Int64(count))
        sink.emit(JSONValue.null, PackedValue(length))
        for (term, places) in places {
            sink.emit(JSONValue.string(term), PackedValue(.array([length] + places)))
        }
    }
}

/// Adds up how many words the documents have; the rows of terms count nothing.
struct WordCountReducer: AddingReducer {
    func reduce(keys: [[UInt8]], values: [PackedValue]) -> PackedValue {
        PackedValue(.integer(values.reduce(0) { $0 + ($1.int64 ?? 0) }))
    }

    func rereduce(_ values: [PackedValue]) -> PackedValue { reduce(keys: [], values: values) }

    var readsKeys: Bool { false }

    func addend(of value: PackedValue, isReduced: Bool) -> Int128? { Int128(value.int64 ?? 0) }

    func reduced(total: Int128) -> PackedValue { PackedValue(.integer(Int64(total))) }
}
