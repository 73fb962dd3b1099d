// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanSystem

/// Reads a design document from a folder as CouchApp lays it out.
///
///     people/
///       language                   "language": "javascript"
///       validate_doc_update.js     "validate_doc_update": "function …"
///       views/by_name/map.js       "views": {"by_name": {"map": "function …"}}
///       rewrites.json              "rewrites": […]
///       _attachments/index.html    an attachment
///
/// A folder is an object and a file a member of it, whose name is the file's up to its last point. The content is a
/// text, without the line's end at its end, or JSON in a file whose name ends in `.json`. Hidden files are left out.
///
/// Links are not followed: a folder that has come from elsewhere could name any file of the user.
struct CouchAppReader {
    /// How many folders may lie in one another.
    private static let deepest = 32
    /// How many files there may be.
    private static let mostFiles = 10_000
    /// How many bytes all files may have, without attachments: as many as a document may.
    static let longest = 64 << 20
    /// The folder whose files are attachments.
    static let attachmentFolder = "_attachments"

    private let interruption: Interruption
    private var bytes = 0
    private var files = 0
    /// The paths of attachments, by their names.
    private(set) var attachments: NameMap<String> = [:]

    init(_ interruption: Interruption) { self.interruption = interruption }

    /// Reads a folder.
    ///
    /// - Parameter folder: Its path.
    /// - Returns: The properties, among them perhaps `_id` and `_rev`.
    /// - Throws: `CommandFailure` that names the file that is wrong.
    mutating func read(_ folder: String) throws(CommandFailure) -> JSONObject {
        try object(folder, depth: 1)
    }

    private mutating func object(
        _ folder: String, depth: Int
    ) throws(CommandFailure) -> JSONObject {
        var object: JSONObject = [:]
        for name in try names(in: folder, depth) {
            let path = folder + "/" + name
            let isFolder = try isFolder(path)
            if depth == 1, isFolder, name.hasSameBytes(as: Self.attachmentFolder) {
                try addAttachments(in: path, "", depth: 2)
                continue
            }
            let member = isFolder ? name : Self.withoutEnding(name)
            guard object[member] == nil else {
                throw CommandFailure(
                    .badInput,
                    "\(folder) has two files for the member \"\(member)\"; rename one of them.")
            }
            object[member] =
                isFolder ? .object(try self.object(path, depth: depth + 1)) : try value(path, depth)
        }
        return object
    }

    private mutating func addAttachments(
        in folder: String, _ prefix: String, depth: Int
    ) throws(CommandFailure) {
        for name in try names(in: folder, depth) {
            let path = folder + "/" + name
            if try isFolder(path) {
                try addAttachments(in: path, prefix + name + "/", depth: depth + 1)
            } else {
                attachments[prefix + name] = path
            }
        }
    }

    /// The files of a folder that are not hidden, by name.
    private mutating func names(in folder: String, _ depth: Int) throws(CommandFailure) -> [String]
    {
        try interruption.check()
        guard depth <= Self.deepest else {
            throw CommandFailure(
                .badInput,
                "\(folder) lies more than \(Self.deepest) folders deep; put it higher up, or into a JSON file."
            )
        }
        let names: [String]
        do {
            names = try Files.list(folder).filter { !$0.hasBytePrefix(".") }
        } catch {
            throw CommandFailure(.failure, "\(folder) cannot be read: \(error.reason).")
        }
        files += names.count
        guard files <= Self.mostFiles else {
            throw CommandFailure(
                .badInput,
                "The design document has more than \(Quantity.grouped(Self.mostFiles)) files; put some together."
            )
        }
        return names
    }

    private func isFolder(_ path: String) throws(CommandFailure) -> Bool {
        let status: FileStatus
        do {
            status = try FileStatus(at: path, followingLinks: false)
        } catch {
            // A name is repaired where it is no UTF-8, and then names no file.
            guard path.unicodeScalars.contains("\u{FFFD}") else {
                throw CommandFailure(.failure, "\(path) cannot be read: \(error.reason).")
            }
            throw CommandFailure(.badInput, "The name of \(path) is not UTF-8; rename the file.")
        }
        switch status.kind {
        case .directory: return true
        case .regular: return false
        case .other:
            throw CommandFailure(
                .badInput,
                "\(path) is a link, a pipe or a device; put a file or a folder in its place.")
        }
    }

    private mutating func value(_ path: String, _ depth: Int) throws(CommandFailure) -> JSONValue {
        let content = try InputSource(path: path, interruption: interruption)
            .readAll(upTo: Self.longest)
        bytes += content.count
        guard bytes <= Self.longest else {
            throw CommandFailure(
                .badInput,
                "The files of the design document have more than \(Quantity.bytes(Self.longest)); make "
                    + "attachments of the long ones.")
        }
        if path.hasByteSuffix(".json") {
            // Together with the folders it may nest as deep as a document.
            let most = JSONParser.Options().maximumDepth
            let options = JSONParser.Options(maximumDepth: most - depth)
            do { return try JSONParser.parse(content, options: options) } catch {
                throw CommandFailure(.badInput, "\(path) is not JSON. \(error)")
            }
        }
        guard let text = String(validating: Self.withoutLineEnd(content), as: UTF8.self) else {
            throw CommandFailure(
                .badInput,
                "\(path) is no text in UTF-8; convert it, or put it into \(Self.attachmentFolder).")
        }
        return .string(text)
    }

    /// A name up to its last point, unless it begins with that.
    private static func withoutEnding(_ name: String) -> String {
        guard let point = name.utf8.lastIndex(of: UInt8(ascii: ".")), point != name.startIndex
        else { return name }
        return String(name[..<point])
    }

    private static func withoutLineEnd(_ content: [UInt8]) -> ArraySlice<UInt8> {
        var text = content[...]
        if text.last == UInt8(ascii: "\n") {
            text.removeLast()
            if text.last == UInt8(ascii: "\r") { text.removeLast() }
        }
        return text
    }
}

/// The media types of attachments, by the endings of their files.
enum MediaType {
    private static let types: NameMap<String> = [
        "css": "text/css", "csv": "text/csv", "gif": "image/gif", "htm": "text/html",
        "html": "text/html", "ico": "image/x-icon", "jpeg": "image/jpeg", "jpg": "image/jpeg",
        "js": "text/javascript", "json": "application/json", "map": "application/json",
        "md": "text/markdown", "mjs": "text/javascript", "mp3": "audio/mpeg", "mp4": "video/mp4",
        "pdf": "application/pdf", "png": "image/png", "svg": "image/svg+xml",
        "txt": "text/plain", "wasm": "application/wasm", "webmanifest": "application/manifest+json",
        "webp": "image/webp", "woff": "font/woff", "woff2": "font/woff2", "xml": "application/xml",
    ]

    /// The type of a file; nil when its name does not tell.
    static func of(_ path: String) -> String? {
        let name = Files.lastComponent(of: path)
        guard let point = name.utf8.lastIndex(of: UInt8(ascii: ".")) else { return nil }
        return types[String(name[name.utf8.index(after: point)...]).lowercased()]
    }
}
