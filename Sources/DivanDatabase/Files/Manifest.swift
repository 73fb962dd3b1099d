// SPDX-License-Identifier: Apache-2.0

package import DivanJSON
internal import DivanPlatform
internal import DivanStorage
internal import DivanSystem

/// The file that says what a database directory holds; see docs/internal/file-format.md.
///
/// Two lines of text: a JSON object, then the CRC-32C of that line in hexadecimal. It is replaced
/// by rename, so a reader sees the old or the new one whole.
package struct Manifest: Equatable, Sendable {
    /// The newest directory format that this release reads.
    static let currentFormat = 5

    /// The format that the manifest was read in.
    var format = currentFormat
    /// The format that this manifest is written in; see docs/internal/file-format.md#versions.
    ///
    /// The first handle that opens a database of an older one for writing makes it one of these: 5 when it is
    /// partitioned, 4 when it is encrypted and its manifest is proven, else 3.
    var newestFormat: Int {
        if isPartitioned { return Self.partitionedFormat }
        return encryption?.provesManifest == true ? Self.provenFormat : 3
    }
    /// The format of partitioned databases, which earlier releases refuse: they would store any ID.
    static let partitionedFormat = 5
    /// The first format whose manifest is proven with the key of the data.
    static let provenFormat = 4
    /// The number of the folder with the data, which a conversion raises.
    package var generation: Int
    /// The name of the storage engine.
    @ByBytes package var engine: String
    /// The UUID that other databases learn.
    @ByBytes package var publicUUID: String
    /// The UUID that no other database learns.
    @ByBytes package var privateUUID: String
    /// Which life of the database this is; see `DatabaseDirectory`.
    @ByBytes package var incarnation: String
    /// Where this life is lived: the lasting identity of the generation's file `place`.
    @ByBytes var place: String
    /// Whether the database is partitioned, which was decided when it was made.
    package var isPartitioned = false
    /// The key of the data, wrapped; nil when they are not encrypted.
    package var encryption: KeyWrapping?
    /// What proves the rest with the key of the data, as it was read; see `isProven(by:)`.
    private var proof: [UInt8]?

    /// Makes the manifest of a new database, with new UUIDs.
    package init(engine: String) {
        generation = 1
        self.engine = engine
        publicUUID = IDGenerator.shared.uuid()
        privateUUID = IDGenerator.shared.uuid()
        incarnation = IDGenerator.shared.uuid()
        place = ""
    }

    mutating func renewUUIDs() {
        publicUUID = IDGenerator.shared.uuid()
        privateUUID = IDGenerator.shared.uuid()
    }

    /// Begins a new life, in the directory where the data lie now.
    mutating func beginLife(in place: String) {
        incarnation = IDGenerator.shared.uuid()
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
            let isProven = format >= Self.provenFormat
            guard let encryption = try KeyWrapping(value, provesManifest: isProven, path: path)
            else { throw DatabaseError.corrupted("The manifest at '\(path)'", nil) }
            self.encryption = encryption
        } else if format == 2 || format == Self.provenFormat {
            throw DatabaseError.corrupted("The manifest at '\(path)'", nil)
        }
        isPartitioned = value["partitioned"] == true
        guard isPartitioned == (format == Self.partitionedFormat) else {
            throw DatabaseError.corrupted("The manifest at '\(path)'", nil)
        }
        proof = value["proof"]?.string.flatMap { Base64.decode($0) }
        self.format = Int(clamping: format)
        self.generation = Int(clamping: generation)
        self.engine = engine
        self.publicUUID = publicUUID
        self.privateUUID = privateUUID
        self.incarnation = incarnation
        self.place = place
    }

    /// The manifest's bytes, checksum included.
    ///
    /// - Parameters:
    ///   - dataKey: The key of the data, with which the manifest is proven; nil when there is none, or when the
    ///     manifest stays one of an older format, which is not proven.
    ///   - format: The format that they say they are of; nil for the newest.
    /// - Returns: The bytes.
    package func bytes(provenBy dataKey: DataKey?, format: Int? = nil) -> [UInt8] {
        precondition(
            encryption?.provesManifest != true || dataKey != nil,
            "The proof needs the key of the data.")
        let format = format ?? newestFormat
        var line: [UInt8] = []
        var object: JSONObject = [
            "format": .integer(Int64(format)), "generation": .integer(Int64(generation)),
            "engine": .string(engine), "publicUUID": .string(publicUUID),
            "privateUUID": .string(privateUUID), "incarnation": .string(incarnation),
            "place": .string(place),
        ]
        if isPartitioned { object["partitioned"] = true }
        if let encryption { object["encryption"] = encryption.json }
        if let proof = dataKey.flatMap({ proof(by: $0, format: format) }) {
            object["proof"] = .string(Base64.encode(proof))
        }
        JSONWriter.append(.object(object), to: &line)
        return line + Array("\n\(Self.checksum(of: line))\n".utf8)
    }

    private static func checksum(of line: [UInt8]) -> String {
        let digits = String(ValueChecksum.continued(0, over: line.span), radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }
}

// MARK: - Proof

extension Manifest {
    /// What proves a manifest: HMAC-SHA-256 of all that it says, under a key that only the key of the data gives.
    ///
    /// - Returns: 32 bytes; nil when such a manifest is not proven.
    private func proof(by dataKey: DataKey, format: Int) -> [UInt8]? {
        guard let encryption, encryption.provesManifest else { return nil }
        // That it is partitioned, the format says.
        let texts = [
            String(format), String(generation), engine, publicUUID, privateUUID, incarnation, place,
        ]
        var message: [UInt8] = []
        for part in texts.map({ Array($0.utf8) }) + encryption.proven {
            message.append(bigEndian64: UInt64(part.count))
            message += part
        }
        return KeyDerivation.subkey(of: dataKey.manifests, for: message).withBytes {
            Array(copying: $0)
        }
    }

    /// Refuses what another program than Divan has made of a manifest.
    ///
    /// Whether there must be a proof is told by `encryption`, whose bytes only the user's key can make; so a proof
    /// cannot be taken away.
    ///
    /// - Parameters:
    ///   - dataKey: The key of the data; nil when they are not encrypted.
    ///   - path: Where the database lies, for the error.
    /// - Throws: `DatabaseError` with code `.corrupted`.
    func checkProof(by dataKey: DataKey?, path: String) throws(DatabaseError) {
        guard let dataKey, let expected = proof(by: dataKey, format: format) else { return }
        guard let proof,
            SecretBytes(copying: proof.span).equals(SecretBytes(copying: expected.span))
        else { throw .alteredManifest(path) }
    }
}
