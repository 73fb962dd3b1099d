// SPDX-License-Identifier: Apache-2.0

internal import DivanDesign
internal import DivanJSON

/// How an index of the database is called on the wire: by a design document and a name.
///
/// `design/name` on the wire's side is one name on the database's; one without a slash, which an app
/// gave, is both.
struct IndexLabel: Equatable {
    @ByBytes var design: String
    @ByBytes var name: String

    init(design: String, name: String) {
        self.design = design
        self.name = name
    }

    init(_ indexName: String) {
        let names = DesignItem.names(indexName)
        self.init(design: names?.design ?? indexName, name: names?.view ?? indexName)
    }

    /// The names that the database may have for it.
    var indexNames: [String] {
        [DesignItem.name(design, name)] + (design.hasSameBytes(as: name) ? [name] : [])
    }

    /// The name of a design document without `_design/`.
    static func design(_ text: String) -> String {
        text.afterBytePrefix("_design/") ?? text
    }
}
