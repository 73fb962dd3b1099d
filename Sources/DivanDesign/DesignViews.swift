// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel
internal import DivanPlatform
internal import DivanQuery

/// The views of a revision of a design document, as they are declared.
struct DesignViews: Sendable {
    struct View: Sendable {
        let name: String
        let map: String
        let reduce: String?
        let collation: Collation
    }

    /// In the order of their names, by which the process knows them.
    let views: [View]
    /// The modules that map functions may require; nil for none.
    let library: JSONValue?
    /// Whether documents show their sequence.
    let showsSequence: Bool
    /// Whether design documents are mapped.
    let includesDesign: Bool
    /// Whether rows lie by the partitions of their documents.
    let isPartitioned: Bool
    /// Whether documents show their conflicts. That costs a look-up for each, so it is done where the functions have the word in them.
    let showsConflicts: Bool
    /// What tells whether the process must learn other functions, or documents are shown in another way.
    let signature: String

    /// Reads them of a body.
    ///
    /// - Parameters:
    ///   - body: The body of a design document.
    ///   - inPartitions: Whether the database is partitioned.
    init(_ body: PackedValue, inPartitions: Bool = false) {
        var views: [View] = []
        body["views"]?.forEachProperty { name, view in
            guard name != "lib", let map = view["map"]?.string else { return }
            let isRaw = view["options"]?["collation"]?.string == "raw"
            views.append(
                View(
                    name: name, map: map, reduce: view["reduce"]?.string,
                    collation: isRaw ? .raw : .unicode))
        }
        views.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        self.views = views
        let library = body["views"]?["lib"].flatMap { $0.isObject ? $0.jsonValue() : nil }
        self.library = library
        showsSequence = body["options"]?["local_seq"]?.bool ?? false
        includesDesign = body["options"]?["include_design"]?.bool ?? false
        isPartitioned = Self.isPartitioned(body, inPartitions: inPartitions)
        let texts = views.map(\.map) + [library?.description ?? ""]
        showsConflicts = texts.contains { $0.utf8.containsBytes(of: "conflicts") }
        signature = Self.digest(
            [
                body["language"]?.string ?? "javascript", library?.description ?? "",
                "\(showsSequence) \(includesDesign)",
            ] + views.flatMap { [$0.name, $0.map] })
    }

    /// Whether the views of a design document are made for partitions, as they are in a partitioned database unless the
    /// document says otherwise.
    package static func isPartitioned(_ body: PackedValue, inPartitions: Bool) -> Bool {
        inPartitions && body["options"]?["partitioned"]?.bool ?? true
    }

    /// What a process is told first, to learn the map functions of some views.
    func commands(for views: [View]) -> [[UInt8]] {
        var commands = [ScriptText.command("reset", ScriptText.text(["reduce_limit": true]))]
        if let library {
            commands.append(ScriptText.command("add_lib", ScriptText.text(library)))
        }
        for view in views {
            commands.append(ScriptText.command("add_fun", ScriptText.text(.string(view.map))))
        }
        return commands
    }

    /// What the rows of a view depend on.
    func version(of view: View, _ language: String) -> String {
        let digest = Self.digest([
            language, library?.description ?? "",
            "\(showsSequence) \(includesDesign) \(showsConflicts)", view.map, view.reduce ?? "",
        ])
        return Self.prefix + digest
    }

    /// How the versions of views of design documents begin.
    static let prefix = "_design "

    /// A digest of texts, each with its length, so that no two lists are alike.
    static func digest(_ texts: [String]) -> String {
        let hasher = OpenSSLDigest.shared.makeHasher(.sha256)
        for text in texts {
            let bytes = Array("\(text.utf8.count) \(text)".utf8)
            hasher.update(bytes.span)
        }
        return hasher.finish().prefix(16).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }
}

extension String.UTF8View {
    /// Whether a text stands in this one, byte for byte.
    fileprivate func containsBytes(of text: String) -> Bool {
        var rest = self[...]
        while let start = rest.firstIndex(where: { $0 == text.utf8.first }) {
            if rest[start...].starts(with: text.utf8) { return true }
            rest = rest[index(after: start)...]
        }
        return false
    }
}
