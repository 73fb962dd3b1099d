// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanPlatform
internal import DivanSystem

/// A database's data key as its manifest has it: sealed with a key that is derived from the user's.
///
///     the user's key ──► 32 raw bytes, or scrypt / PBKDF2 of a password and the salt
///                         │  HMAC-SHA-256, "divan-wrapping-1"
///                         ▼
///                     wrapping key ──► AES-256-GCM ◄── the data key, 32 random bytes
///                                          │   proves also how the key was derived
///                                          ▼
///                                      48 bytes
///
/// Another user's key, or a manifest with other numbers, gives a tag that does not fit. That is how a
/// wrong key is known before anything else of the database is touched.
///
/// What is proven says also whether the manifest must have a proof, so that none can be taken away.
package struct KeyWrapping: Equatable, Sendable {
    /// How the user's key becomes 32 bytes.
    enum Derivation: Equatable, Sendable {
        case raw
        case scrypt(KeyDerivation.ScryptCost, salt: [UInt8])
        case pbkdf2(rounds: Int, salt: [UInt8])
    }

    static let saltSize = 16
    private static let wrappedSize = KeyDerivation.keySize + SealingCipher.tagSize

    let derivation: Derivation
    let nonce: [UInt8]
    let wrapped: [UInt8]
    /// Whether the manifest is proven by the data key; not so in formats before 4.
    let provesManifest: Bool

    /// Wraps a data key, with a new salt and nonce.
    ///
    /// - Throws: `DatabaseError` with code `.io` when there is not enough memory for scrypt.
    init(_ dataKey: DataKey, with key: EncryptionKey) throws {
        let derivation = Derivation(for: key)
        guard let wrapping = Self.wrappingKey(key, derivation) else {
            throw DatabaseError.derivationFailed()
        }
        self.init(dataKey, derivation, wrapping)
    }

    /// Wraps a data key with a key that is derived already.
    private init(_ dataKey: DataKey, _ derivation: Derivation, _ wrapping: SecretBytes) {
        let nonce = SecureRandom.bytes(SealingCipher.nonceSize)
        self.derivation = derivation
        self.nonce = nonce
        provesManifest = true
        wrapped = dataKey.secret.withBytes { bytes in
            SealingCipher(key: wrapping).seal(
                bytes, nonce: nonce, associated: Self.associated(derivation, provesManifest: true))
        }
    }

    /// The data key, and this wrapping as it is written now, which is another one if it is of an older format.
    ///
    /// - Throws: `DatabaseError` with code `.unauthorized` when this is not the key it was wrapped with.
    func unwrap(
        with key: EncryptionKey, path: String
    ) throws -> (dataKey: DataKey, renewed: KeyWrapping) {
        guard derivation.fits(key) else { throw DatabaseError.wrongKey(path) }
        guard let wrapping = Self.wrappingKey(key, derivation) else {
            throw DatabaseError.derivationFailed()
        }
        let opened = SealingCipher(key: wrapping).openSecret(
            wrapped.span, nonce: nonce,
            associated: Self.associated(derivation, provesManifest: provesManifest))
        guard let opened else { throw DatabaseError.wrongKey(path) }
        let dataKey = DataKey(opened)
        return (dataKey, provesManifest ? self : KeyWrapping(dataKey, derivation, wrapping))
    }

    /// What is proven beside the data key: how it was derived, and whether the manifest must be proven.
    private static func associated(_ derivation: Derivation, provesManifest: Bool) -> [UInt8] {
        Array("divan-data-key-\(provesManifest ? 2 : 1)/\(derivation.text)".utf8)
    }

    /// The parts of it that the manifest's proof is over.
    var proven: [[UInt8]] {
        [Self.associated(derivation, provesManifest: provesManifest), nonce, wrapped]
    }

    private static func wrappingKey(
        _ key: EncryptionKey, _ derivation: Derivation
    ) -> SecretBytes? {
        let derived: SecretBytes? =
            switch derivation {
            case .raw: key.secret
            case .scrypt(let cost, let salt): KeyDerivation.scrypt(key.secret, salt: salt, cost)
            case .pbkdf2(let rounds, let salt):
                KeyDerivation.pbkdf2(key.secret, salt: salt, rounds: rounds)
            }
        return derived.map { KeyDerivation.subkey(of: $0, for: Array("divan-wrapping-1".utf8)) }
    }
}

extension KeyWrapping.Derivation {
    /// A new derivation for a key, with a new salt.
    fileprivate init(for key: EncryptionKey) {
        let salt = SecureRandom.bytes(KeyWrapping.saltSize)
        switch (key.kind, key.derivation.function) {
        case (.raw, _): self = .raw
        case (.password, .scrypt(let cost)): self = .scrypt(cost, salt: salt)
        case (.password, .pbkdf2(let rounds)): self = .pbkdf2(rounds: rounds, salt: salt)
        }
    }

    /// Whether a key is of the kind that is derived like this.
    fileprivate func fits(_ key: EncryptionKey) -> Bool { (self == .raw) == (key.kind == .raw) }

    /// How it was derived, as a text.
    fileprivate var text: String {
        switch self {
        case .raw: "raw"
        case .scrypt(let cost, let salt):
            "scrypt/\(cost.cost)/\(cost.blockSize)/\(cost.parallelism)/\(Base64.encode(salt))"
        case .pbkdf2(let rounds, let salt): "pbkdf2-sha256/\(rounds)/\(Base64.encode(salt))"
        }
    }
}

// MARK: - In a manifest

extension KeyWrapping {
    private static let algorithm = "aes-256-gcm"

    /// Reads what a manifest has under `encryption`; nil when it is none of what this release writes.
    ///
    /// - Parameters:
    ///   - value: What is under `encryption`.
    ///   - provesManifest: Whether the manifest's format is one of those that are proven.
    ///   - path: Where the manifest lies, for the error.
    /// - Throws: `DatabaseError` with code `.corrupted` when a password would take longer to become a key than
    ///   `DerivationBounds` allow. Nothing has been derived by then.
    init?(_ value: JSONValue, provesManifest: Bool, path: String) throws(DatabaseError) {
        guard value["algorithm"]?.string == Self.algorithm,
            let nonce = Self.bytes(value["nonce"], SealingCipher.nonceSize),
            let wrapped = Self.bytes(value["wrappedKey"], Self.wrappedSize),
            let derivation = Self.derivation(value)
        else { return nil }
        guard DerivationBounds.allow(derivation) else { throw .costlyDerivation(path) }
        self.nonce = nonce
        self.wrapped = wrapped
        self.derivation = derivation
        self.provesManifest = provesManifest
    }

    /// How a key is derived, going by the form alone; whether it may cost that much is decided next.
    private static func derivation(_ value: JSONValue) -> Derivation? {
        let salt = bytes(value["salt"], saltSize)
        switch value["derivation"]?.string {
        case "raw":
            return .raw
        case "scrypt":
            guard let salt, let cost = number(value["cost"]),
                let blockSize = number(value["blockSize"]),
                let parallelism = number(value["parallelism"]), cost > 1, cost & (cost - 1) == 0
            else { return nil }
            return .scrypt(
                KeyDerivation.ScryptCost(
                    cost: cost, blockSize: blockSize, parallelism: parallelism), salt: salt)
        case "pbkdf2-sha256":
            guard let salt, let rounds = number(value["rounds"]) else { return nil }
            return .pbkdf2(rounds: rounds, salt: salt)
        default:
            return nil
        }
    }

    private static func number(_ value: JSONValue?) -> Int? {
        guard case .integer(let number)? = value, number > 0 else { return nil }
        return Int(clamping: number)
    }

    private static func bytes(_ value: JSONValue?, _ count: Int) -> [UInt8]? {
        value?.string.flatMap { Base64.decode($0) }.flatMap { $0.count == count ? $0 : nil }
    }

    /// What a manifest has under `encryption`.
    var json: JSONValue {
        var object: JSONObject = [
            "algorithm": .string(Self.algorithm), "nonce": .string(Base64.encode(nonce)),
            "wrappedKey": .string(Base64.encode(wrapped)),
        ]
        switch derivation {
        case .raw:
            object["derivation"] = .string("raw")
        case .scrypt(let cost, let salt):
            object["derivation"] = .string("scrypt")
            object["cost"] = .integer(Int64(cost.cost))
            object["blockSize"] = .integer(Int64(cost.blockSize))
            object["parallelism"] = .integer(Int64(cost.parallelism))
            object["salt"] = .string(Base64.encode(salt))
        case .pbkdf2(let rounds, let salt):
            object["derivation"] = .string("pbkdf2-sha256")
            object["rounds"] = .integer(Int64(rounds))
            object["salt"] = .string(Base64.encode(salt))
        }
        return .object(object)
    }
}

/// Random bytes that are no secret themselves: salts, nonces.
enum SecureRandom {
    static func bytes(_ count: Int) -> [UInt8] {
        SecretBytes.random(count: count).withBytes { Array(copying: $0) }
    }
}
