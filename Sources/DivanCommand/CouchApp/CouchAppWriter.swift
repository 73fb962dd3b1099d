// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanSystem

/// Writes a design document into a folder, so that `CouchAppReader` reads the same one.
///
/// Functions get files whose names end in `.js`, other texts in `.txt`. What no file can hold exactly becomes JSON: numbers,
/// arrays, and objects with members whose names no file can have, such as `..`. A design document comes from others, so no
/// name of it may lead out of the folder.
struct CouchAppWriter {
    /// Objects that lie deeper are JSON.
    private static let deepest = 16
    /// A name with its ending may have 255 bytes.
    private static let longestName = 240
    /// Members whose texts are functions, at the top of the document.
    private static let functions: NameSet = [
        "views", "filters", "shows", "lists", "updates", "lib", "validate_doc_update", "rewrites",
    ]

    private let interruption: Interruption

    init(_ interruption: Interruption) { self.interruption = interruption }

    /// Writes a document into a folder that is missing or empty.
    ///
    /// - Throws: `CommandFailure`, and `DatabaseError` when the content of an attachment cannot be read.
    func write(_ document: Document, to folder: String) throws {
        guard !Files.exists(folder) || (try? Files.list(folder))?.isEmpty == true else {
            throw CommandFailure(
                .conflict, "\(folder) is there and not an empty folder; name another one.")
        }
        try makeFolder(folder)
        try OutputFile.write(document.id.text + "\n", to: folder + "/_id")
        let properties = document.properties
        guard Self.fits(properties, .top) else {
            throw CommandFailure(
                .failure,
                "\"\(document.id)\" has members whose names no file can have; leave out the folder to print it."
            )
        }
        try write(properties, at: .top, in: folder)
        for attachment in document.attachments {
            try write(attachment, to: folder + "/" + CouchAppReader.attachmentFolder)
        }
    }

    private func write(_ object: JSONObject, at place: Place, in folder: String) throws {
        for (name, value) in object {
            let member = place.member(name)
            let path = folder + "/" + Self.fileName(name, value, member)
            try checkFree(path)
            switch Self.form(of: value, member) {
            case .folder(let object):
                try makeFolder(path)
                try write(object, at: member, in: path)
            case .text(let text): try OutputFile.write(text + "\n", to: path)
            case .json:
                let text = JSONLayout.indented(Array(JSONWriter.string(value).utf8).span)
                try OutputFile.write(text + [UInt8(ascii: "\n")], to: path)
            }
        }
    }

    private func write(_ attachment: DocumentAttachment, to folder: String) throws {
        let parts = attachment.name.utf8.split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: false
        ).map { String(Substring($0)) }
        guard parts.allSatisfy(Self.isFileName) else {
            throw CommandFailure(
                .failure,
                "The attachment \"\(attachment.name)\" has a name that no file can have; \"divan attachment get\" "
                    + "writes its content.")
        }
        let path = ([folder] + parts).joined(separator: "/")
        try makeFolder(Files.parent(of: path))
        try checkFree(path)
        let reader = try attachment.makeReader()
        let file = try OutputFile(path)
        do {
            while true {
                try interruption.check()
                let piece = try reader.read(upTo: 256 << 10)
                if piece.isEmpty { break }
                try file.sink.write(piece)
            }
            try file.finish()
        } catch {
            file.discard()
            throw error
        }
    }

    private func makeFolder(_ path: String) throws(CommandFailure) {
        do { try Files.makeDirectory(path) } catch {
            throw CommandFailure(.failure, "\(path) cannot be made: \(error.reason).")
        }
    }

    /// Refuses a second file of a name, as where the system takes capitals and small letters for the same.
    private func checkFree(_ path: String) throws(CommandFailure) {
        guard Files.exists(path) else { return }
        throw CommandFailure(
            .failure,
            "Two parts of the design document would be the file \(path); print it instead.")
    }

    // MARK: - What becomes of a value

    /// Where a value lies.
    private struct Place {
        /// How many objects are around it.
        var depth: Int
        /// Whether its texts are functions.
        var isCode: Bool

        /// The document itself.
        static let top = Place(depth: 0, isCode: false)

        func member(_ name: String) -> Place {
            Place(
                depth: depth + 1,
                isCode: depth == 0 ? CouchAppWriter.functions.contains(name) : isCode)
        }
    }

    private enum Form {
        case folder(JSONObject)
        case text(String)
        case json
    }

    private static func form(of value: JSONValue, _ place: Place) -> Form {
        switch value {
        case .object(let object) where place.depth < deepest && fits(object, place):
            .folder(object)
        // The reader takes a mark at the beginning and a line's end at the end away.
        case .string(let text)
        where !text.hasByteSuffix("\r") && !text.hasBytePrefix("\u{FEFF}"): .text(text)
        default: .json
        }
    }

    /// Whether all members of an object can be files that the reader tells apart.
    private static func fits(_ object: JSONObject, _ place: Place) -> Bool {
        var names: NameSet = []
        for (name, value) in object {
            let file = fileName(name, value, place.member(name))
            guard isFileName(name), names.insert(file).inserted else { return false }
        }
        return true
    }

    private static func fileName(_ name: String, _ value: JSONValue, _ place: Place) -> String {
        switch form(of: value, place) {
        case .folder: name
        case .json: name + ".json"
        case .text where place.depth == 1 && name.hasSameBytes(as: "language"): name
        case .text: name + (place.isCode ? ".js" : ".txt")
        }
    }

    /// Whether a file that is not hidden can have this name.
    private static func isFileName(_ name: String) -> Bool {
        (1...longestName).contains(name.utf8.count) && name.utf8.first != UInt8(ascii: ".")
            && !name.utf8.contains { $0 == UInt8(ascii: "/") || $0 == 0 }
    }
}
