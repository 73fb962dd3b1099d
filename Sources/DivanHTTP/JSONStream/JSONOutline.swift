// SPDX-License-Identifier: Apache-2.0

package import DivanJSON

/// What can be told of a JSON object that cannot be parsed: whose it is.
///
/// ```swift
/// let outline = JSONOutline(text, of: ["_id", "_rev"])     // of a document that nests too deep
/// outline["_id"]?.string
/// ```
///
/// Members are found by their brackets, and only those that are asked for are parsed. It goes as far as the brackets
/// are right: of a text that breaks off it has the members before.
package struct JSONOutline: Sendable {
    private var members: NameMap<JSONValue> = [:]
    /// Whether the text is one object by its brackets.
    package private(set) var isWhole = false

    /// Looks through a text.
    ///
    /// - Parameters:
    ///   - text: The text of an object.
    ///   - names: The members to parse.
    package init(_ text: some Sequence<UInt8>, of names: [String]) {
        // No member of this name comes in elements.
        let names = NameSet(names)
        var stream = JSONObjectStream(array: "\u{0}", limit: .max)
        stream.push(Array(text))
        do {
            while let event = try stream.next() {
                guard case .member(let name, let text) = event, names.contains(name) else {
                    continue
                }
                members[name] = try? JSONParser.parse(text)
            }
            isWhole = stream.isAtEnd
        } catch {}
    }

    /// A member; nil when it is not there, or no JSON.
    package subscript(name: String) -> JSONValue? { members[name] }
}
