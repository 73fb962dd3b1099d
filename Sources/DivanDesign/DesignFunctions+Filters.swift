// SPDX-License-Identifier: Apache-2.0

package import DivanDatabase
package import DivanJSON

extension DesignFunctions {
    /// Which of some documents pass a filter.
    ///
    /// - Parameters:
    ///   - documents: The documents.
    ///   - name: The filter's name.
    ///   - request: What the filter is told of the request.
    /// - Returns: An answer for each.
    /// - Throws: `DatabaseError` with code `.scriptFailed`.
    package func passes(
        _ documents: [Document], through name: String, _ request: JSONObject
    ) throws -> [Bool] {
        try DatabaseError.naming(document.id, "The filter '\(name)'") { () throws(ScriptError) in
            let texts = ScriptText.array(documents.map { ScriptText.text($0) })
            let answer = try call(
                ["filters", name], [texts, ScriptText.text(.object(request))])
            guard let passes = answer[1], passes.count == documents.count else {
                throw .workerFailed
            }
            return documents.indices.map { passes[$0]?.bool ?? false }
        }
    }
}
