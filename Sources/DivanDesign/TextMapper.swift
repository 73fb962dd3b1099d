// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanQuery

/// What gives documents their fields in a text index of `_find`. No function is asked.
final class TextMapper: GroupMapper {
    private let definition: TextDefinition
    private let analyzers: SearchAnalyzers

    init(_ definition: TextDefinition, _ analyzers: SearchAnalyzers) {
        self.definition = definition
        self.analyzers = analyzers
    }

    func map(_ documents: [Document]) throws -> [PackedValue] {
        try documents.map { try SearchRows.rows(of: $0, in: definition, analyzers) }
    }
}
