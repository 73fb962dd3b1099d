// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel

/// A property of documents that scripts are shown, where they read no others.
struct ShownProperty: Sendable {
    private enum Source {
        case id
        case revision
        case body(String)
    }

    private let source: Source
    /// What stands before its value: `"name":`.
    private let opening: [UInt8]

    /// - Parameter name: Its name, of the body or one of `_id`, `_rev` and `_attachments`; nil is made of other names with an
    ///   underscore, which only whole documents have.
    init?(_ name: String) {
        if name.hasSameBytes(as: "_id") {
            source = .id
        } else if name.hasSameBytes(as: "_rev") {
            source = .revision
        } else if !name.utf8.starts(with: "_".utf8) || name.hasSameBytes(as: "_attachments") {
            source = .body(name)
        } else {
            return nil
        }
        opening = ScriptText.text(.string(name)) + [UInt8(ascii: ":")]
    }

    /// Appends its name and its value in a document.
    ///
    /// - Returns: Whether the document has it; else nothing was appended.
    func append(of document: Document, to bytes: inout [UInt8]) -> Bool {
        switch source {
        case .id:
            bytes += opening
            JSONWriter.append(.string(document.id.text), to: &bytes)
        case .revision:
            bytes += opening
            JSONWriter.append(.string(document.revisionID.description), to: &bytes)
        case .body(let name):
            guard let value = document.body[name] else { return false }
            bytes += opening
            value.appendJSON(to: &bytes)
        }
        return true
    }
}
