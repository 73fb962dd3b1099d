// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON

// Filters of `_changes`: those that an app has registered, and those of design documents.
extension Call {
    /// A filter by its name: the app's, or `design/filter`, what the design document says now.
    ///
    /// - Throws: `HTTPFailure` 404 when there is none, 501 when nothing makes a function of its source, 400 when
    ///   that cannot be made.
    func filter(_ name: String) throws -> FilterFunction {
        if let filter = try database.filter(named: name) { return filter }
        let missing = HTTPFailure.notFound("missing filter: \(name.prefix(100))")
        let parts = DesignItem.parts(name)
        guard parts.count == 2,
            let document = try database.document(withID: "_design/\(parts[0])"),
            let source = document["filters"][parts[1]].string
        else { throw missing }
        let language = document["language"].string ?? "javascript"
        guard let compile = site.options.filterCompiler else {
            throw HTTPFailure.notImplemented(
                "The filter is written in \(language), which is not available here: the app can "
                    + "register it as '\(name.prefix(100))', or a compiler.")
        }
        do { return try compile(source, language) } catch {
            throw HTTPFailure(400, "compilation_error", "The filter could not be compiled.")
        }
    }
}
