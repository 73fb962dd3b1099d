// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanStorage

/// The file that says what a database directory holds; see docs/file-format.md.
///
/// Two lines of text: a JSON object, then the CRC-32C of that line in hexadecimal. It is replaced
/// by rename, so a reader sees the old or the new one whole.
struct Manifest: Equatable, Sendable {
    /// The newest directory format that this release reads, and the one that it writes.
    ///
    /// Formats 1 and 2, the latter encrypted, had no older revisions: a release that knows no newer format would cut
    /// them off at its next edit. The first handle that opens such a database for writing makes it one of format 3,
    /// which changes this number and nothing else.
    static let currentFormat = 3

    /// The format that the manifest was read in.
    var format = currentFormat
    var generation: Int
    var engine: String
    var publicUUID: String
    var privateUUID: String
    /// Which life of the database this is; see `DatabaseDirectory`.
    var incarnation: String
    /// Where this life is lived: the lasting identity of the generation's file `place`.
    var place: String
    /// The key of the data, wrapped; nil when they are not encrypted.
    var encryption: KeyWrapping?

    init(engine: String) {
        generation = 1
        self.engine = engine
        publicUUID = SeededRandom.shared.uuid()
        privateUUID = SeededRandom.shared.uuid()
        incarnation = SeededRandom.shared.uuid()
        place = ""
    }

    mutating func renewUUIDs() {
        publicUUID = SeededRandom.shared.uuid()
        privateUUID = SeededRandom.shared.uuid()
    }

    /// Begins a new life, in the directory where the data lie now.
    mutating func beginLife(in place: String) {
        incarnation = SeededRandom.shared.uuid()
        self.place = place
    }

    /// Reads a manifest's bytes; `path` is only for the error.
    init(_ bytes: [UInt8], path: String) throws(DatabaseError) {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard lines.count == 3, lines[2].isEmpty,
            String(decoding: lines[1], as: UTF8.self) == Self.checksum(of: Array(lines[0])),
            let value = try? JSONParser.parse(Array(lines[0])),
            case .integer(let format)? = value["format"]
        else { throw DatabaseError.corrupted("The manifest at '\(path)'", nil) }
        guard format >= 1, format <= Self.currentFormat else {
            throw DatabaseError.unsupportedVersion(
                path, found: Int(clamping: format), known: Self.currentFormat)
        }
        guard case .integer(let generation)? = value["generation"],
            let engine = value["engine"]?.string,
            let publicUUID = value["publicUUID"]?.string,
            let privateUUID = value["privateUUID"]?.string,
            let incarnation = value["incarnation"]?.string,
            let place = value["place"]?.string
        else { throw DatabaseError.corrupted("The manifest at '\(path)'", nil) }
        if let value = value["encryption"] {
            guard let encryption = KeyWrapping(value) else {
                throw DatabaseError.corrupted("The manifest at '\(path)'", nil)
            }
            self.encryption = encryption
        } else if format == 2 {
            throw DatabaseError.corrupted("The manifest at '\(path)'", nil)
        }
        self.format = Int(clamping: format)
        self.generation = Int(clamping: generation)
        self.engine = engine
        self.publicUUID = publicUUID
        self.privateUUID = privateUUID
        self.incarnation = incarnation
        self.place = place
    }

    /// The manifest's bytes in the current format, checksum included.
    var bytes: [UInt8] { bytes(format: Self.currentFormat) }

    /// The bytes, saying that they are of a format.
    func bytes(format: Int) -> [UInt8] {
        var line: [UInt8] = []
        var object: JSONObject = [
            "format": .integer(Int64(format)), "generation": .integer(Int64(generation)),
            "engine": .string(engine), "publicUUID": .string(publicUUID),
            "privateUUID": .string(privateUUID), "incarnation": .string(incarnation),
            "place": .string(place),
        ]
        if let encryption { object["encryption"] = encryption.json }
        JSONWriter.append(.object(object), to: &line)
        return line + Array("\n\(Self.checksum(of: line))\n".utf8)
    }

    private static func checksum(of line: [UInt8]) -> String {
        let digits = String(ValueChecksum.continued(0, over: line.span), radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }
}
