// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanPlatform

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
struct KeyWrapping: Equatable, Sendable {
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

    /// Wraps a data key, with a new salt and nonce.
    ///
    /// - Throws: `DatabaseError` with code `.io` when there is not enough memory for scrypt.
    init(_ dataKey: DataKey, with key: EncryptionKey) throws {
        derivation = Derivation(for: key)
        nonce = SecureRandom.bytes(SealingCipher.nonceSize)
        guard let wrapping = Self.wrappingKey(key, derivation) else {
            throw DatabaseError.derivationFailed()
        }
        let (nonce, derivation) = (nonce, derivation)
        wrapped = dataKey.secret.withBytes { bytes in
            SealingCipher(key: wrapping).seal(
                bytes, nonce: nonce, associated: derivation.associated)
        }
    }

    /// The data key.
    ///
    /// - Throws: `DatabaseError` with code `.unauthorized` when this is not the key it was wrapped with.
    func unwrap(with key: EncryptionKey, path: String) throws -> DataKey {
        guard derivation.fits(key) else { throw DatabaseError.wrongKey(path) }
        guard let wrapping = Self.wrappingKey(key, derivation) else {
            throw DatabaseError.derivationFailed()
        }
        let opened = SealingCipher(key: wrapping).openSecret(
            wrapped.span, nonce: nonce, associated: derivation.associated)
        guard let opened else { throw DatabaseError.wrongKey(path) }
        return DataKey(opened)
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

    /// What is proven beside the key: how it was derived.
    fileprivate var associated: [UInt8] {
        let text =
            switch self {
            case .raw: "raw"
            case .scrypt(let cost, let salt):
                "scrypt/\(cost.cost)/\(cost.blockSize)/\(cost.parallelism)/\(Base64.encode(salt))"
            case .pbkdf2(let rounds, let salt): "pbkdf2-sha256/\(rounds)/\(Base64.encode(salt))"
            }
        return Array("divan-data-key-1/\(text)".utf8)
    }
}

// MARK: - In a manifest

extension KeyWrapping {
    private static let algorithm = "aes-256-gcm"

    /// Reads what a manifest has under `encryption`; nil when it is none of what this release writes.
    ///
    /// Numbers that would take hours or gigabytes are refused: a manifest can be anybody's.
    init?(_ value: JSONValue) {
        guard value["algorithm"]?.string == Self.algorithm,
            let nonce = Self.bytes(value["nonce"], SealingCipher.nonceSize),
            let wrapped = Self.bytes(value["wrappedKey"], Self.wrappedSize),
            let derivation = Self.derivation(value)
        else { return nil }
        self.nonce = nonce
        self.wrapped = wrapped
        self.derivation = derivation
    }

    private static func derivation(_ value: JSONValue) -> Derivation? {
        let salt = bytes(value["salt"], saltSize)
        switch value["derivation"]?.string {
        case "raw":
            return .raw
        case "scrypt":
            guard let salt, let cost = number(value["cost"], upTo: 1 << 22),
                let blockSize = number(value["blockSize"], upTo: 32),
                let parallelism = number(value["parallelism"], upTo: 64),
                cost > 1, cost & (cost - 1) == 0, cost * blockSize <= 1 << 23
            else { return nil }
            return .scrypt(
                KeyDerivation.ScryptCost(
                    cost: cost, blockSize: blockSize, parallelism: parallelism), salt: salt)
        case "pbkdf2-sha256":
            guard let salt, let rounds = number(value["rounds"], upTo: 100_000_000) else {
                return nil
            }
            return .pbkdf2(rounds: rounds, salt: salt)
        default:
            return nil
        }
    }

    private static func number(_ value: JSONValue?, upTo limit: Int64) -> Int? {
        guard case .integer(let number)? = value, (1...limit).contains(number) else { return nil }
        return Int(number)
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
