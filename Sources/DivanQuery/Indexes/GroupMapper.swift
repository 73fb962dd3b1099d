// SPDX-License-Identifier: Apache-2.0

package import DivanDatabase
package import DivanJSON
internal import DivanModel

/// Maps documents for several views in one go, such as all views of a design document.
///
/// It may have another process do that, so it gets many documents at a time. It is asked by several threads at once.
package protocol GroupMapper: AnyObject, Sendable {
    /// Maps documents.
    ///
    /// - Parameter documents: The documents, in the order of the feed.
    /// - Returns: For each document an array with an element for each view, which is an array of rows `[key, value]`.
    /// - Throws: An error that ends the pass over the documents, and nothing of them is kept.
    func map(_ documents: [Document]) throws -> [PackedValue]
}

/// What a group of views made of the documents of a part, until the rows of each view are collected.
struct GroupAnswers {
    /// A group, and what it answered by the places of documents in the part; nil where it was not asked.
    private var answers: [(mapper: any GroupMapper, rows: [PackedValue?])] = []

    /// Asks the groups of some indexes about the documents that these map.
    init(_ indexes: [OutdatedIndex], _ documents: [Document?]) throws {
        for index in indexes {
            guard let group = index.definition.group,
                !answers.contains(where: { $0.mapper === group.mapper })
            else { continue }
            let asked = documents.indices.filter { place in
                documents[place].map { index.definition.includesDesign || !$0.id.isDesign } ?? false
            }
            let answered = try group.mapper.map(asked.compactMap { documents[$0] })
            var rows = [PackedValue?](repeating: nil, count: documents.count)
            for (place, answer) in zip(asked, answered) { rows[place] = answer }
            answers.append((group.mapper, rows))
        }
    }

    /// The rows that one view of a group has of a document.
    func rows(of group: IndexDefinition.Group, _ place: Int) -> PackedValue? {
        answers.first { $0.mapper === group.mapper }?.rows[place]?[group.place]
    }
}
