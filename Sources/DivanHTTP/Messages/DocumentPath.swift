// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// Paths of documents and attachments below a database, as CouchDB reads them.
///
/// ```swift
/// DocumentPath.document("a/b")                      // "a%2Fb"
/// DocumentPath.document("_design/people")           // "_design/people"
/// DocumentPath.attachment("photo 1.jpg", of: "a/b") // "a%2Fb/photo%201.jpg"
/// ```
package enum DocumentPath {
    /// The path of a document. The slash of `_design/` and `_local/` stays one; every other is encoded.
    package static func document(_ id: String) -> String {
        for prefix in ["_design/", "_local/"] {
            if let name = id.afterBytePrefix(prefix) {
                return prefix + PercentEncoding.encode(name)
            }
        }
        return PercentEncoding.encode(id)
    }

    /// The path of an attachment. Slashes in its name are encoded, which every server understands.
    package static func attachment(_ name: String, of id: String) -> String {
        "\(document(id))/\(PercentEncoding.encode(name))"
    }
}
