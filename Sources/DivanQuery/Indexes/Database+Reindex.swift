// SPDX-License-Identifier: Apache-2.0

package import DivanDatabase

extension Database {
    /// Empties every index in one transaction and builds those whose functions are known in this process.
    ///
    /// These are the indexes on properties, full text, and the views that have a map function. The other views are
    /// built by their next query. When it is stopped, queries go on from there.
    ///
    /// - Parameter progress: Gets reports; throwing stops the work.
    /// - Throws: As `write(_:)`, and what `progress` throws.
    package func rebuildIndexes(progress: ProgressHandler?) throws {
        try checkWritable()
        let names = try viewNames()
        let defined = names.compactMap { views.view($0) }.filter(\.isDefined)
        let texts = try fullTextIndexNames().compactMap { try existingFullTextIndex(named: $0) }
        let kept =
            try core.read { try $0.keptPropertyIndexes() }.map(\.definition)
            + texts.map { $0.makeDefinition() }
        try core.write { context in
            for name in names { _ = try context.dropIndex(IndexName(.view, name)) }
            // Property and full-text indexes are known by their records, which stay.
            for definition in kept {
                _ = try context.makeIndex(
                    definition.name, signature: definition.signature, version: definition.version)
            }
        }
        if !kept.isEmpty {
            _ = try IndexPass(core: core, definitions: kept, progress: progress).run()
        }
        // Updating the first brings the others up to date, too.
        for view in defined { try view.updateIndex(progress: progress) }
    }
}
