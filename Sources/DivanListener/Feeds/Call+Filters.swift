// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanDesign
internal import DivanJSON

// Filters of `_changes`: those that an app has registered, and those of design documents.
extension Call {
    /// A filter by its name: the app's, or `design/filter`, what the design document says now.
    ///
    /// - Throws: `HTTPFailure` 404 when there is none, 501 when nothing runs it, 400 when the name has another form.
    func filter(_ name: String) throws -> FilterFunction {
        if let filter = try database.filter(named: name) { return filter }
        guard let names = DesignItem.names(name) else {
            guard !name.hasBytePrefix("_") else {
                throw HTTPFailure.badRequest("unknown builtin filter name")
            }
            throw HTTPFailure.badRequest(
                "`filter` must be of the form `designname/filtername`")
        }
        let document = try design(names.design)
        try Self.checkFunction(document, "filters", names.view)
        let functions = try database.designDocuments.functions(of: document)
        let request = try scriptRequest(id: nil)
        return { document, _ in
            try functions.passes([document], through: names.view, request)[0]
        }
    }
}
