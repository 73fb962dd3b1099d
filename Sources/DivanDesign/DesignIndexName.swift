// SPDX-License-Identifier: Apache-2.0

/// What the name of an index tells of the design document that declares it.
package enum DesignIndexName {
    /// The design document of an index, of a view as well as of a search index, without `_design/`; nil for one of the app,
    /// whose name is not made as those of design documents are.
    package static func design(of name: String) -> String? {
        DesignSearch.names(name)?.design ?? DesignItem.names(name)?.design
    }
}
