// SPDX-License-Identifier: Apache-2.0

internal import DivanPlatform
internal import DivanSystem

/// What opens an encrypted database: 32 bytes, or a password.
///
/// ```swift
/// var options = DatabaseOptions()
/// options.create = true
/// options.encryptionKey = .password("correct horse battery staple")
/// let database = try manager.openDatabase(named: "diary", options: options)
/// ```
///
/// A database that is made with a key is encrypted from its first byte on: documents, indexes, names,
/// the log, temporary files and attachments. The data are encrypted with a random key of their own,
/// which lies in the manifest, wrapped by this one; so `changeEncryptionKey(to:)` is done at once.
/// A lost key or password cannot be replaced by anything. `docs/encryption.md` has the format, and what
/// encryption does not hide.
///
/// Deriving a key from a password takes about a third of a second, each time a database is opened with
/// it: that is what makes guessing slow. 32 random bytes need none of that.
///
/// The key is kept outside Swift's memory, locked against being swapped out where the system permits
/// that, and wiped when the last value goes. It is never logged, and `description` does not show it. What
/// it was made of, the caller's own array or string, is the caller's to forget.
public struct EncryptionKey: Sendable {
    enum Kind: UInt8, Sendable {
        case raw = 0
        case password = 1
    }

    let kind: Kind
    let secret: SecretBytes
    /// How a password becomes a key, where one is wrapped anew.
    let derivation: PasswordDerivation

    /// Makes a key of 32 bytes, which should be random.
    ///
    /// - Throws: `DatabaseError` with code `.unauthorized` when there are not 32.
    public init(rawBytes bytes: [UInt8]) throws {
        guard bytes.count == KeyDerivation.keySize else {
            throw DatabaseError.keyOfWrongSize(bytes.count)
        }
        self.init(kind: .raw, secret: SecretBytes(copying: bytes.span))
    }

    /// Makes a key of a password.
    ///
    /// Its UTF-8 bytes count as they are: two ways to write the same letter are two passwords. An empty
    /// password is one like any other.
    ///
    /// - Parameters:
    ///   - password: The password.
    ///   - derivation: How it becomes a key, where a database is made or gets a new key. One that exists
    ///     remembers how.
    /// - Returns: The key.
    public static func password(
        _ password: String, derivation: PasswordDerivation = .scrypt
    ) -> EncryptionKey {
        var password = password
        // SAFETY: the buffer is valid for the closure, which copies it.
        let secret = password.withUTF8 { utf8 in unsafe SecretBytes(copying: utf8.span) }
        return EncryptionKey(kind: .password, secret: secret, derivation: derivation)
    }

    private init(kind: Kind, secret: SecretBytes, derivation: PasswordDerivation = .scrypt) {
        self.kind = kind
        self.secret = secret
        self.derivation = derivation
    }

    /// What tells keys apart in this process without being one: a keyed hash that
    /// only code with access to this process's memory can compare with.
    var fingerprint: KeyFingerprint { KeyFingerprint(self) }
}

extension EncryptionKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// What kind of key it is; never the key.
    public var description: String {
        switch kind {
        case .raw: "EncryptionKey(32 bytes)"
        case .password: "EncryptionKey(password)"
        }
    }

    /// The same as `description`.
    public var debugDescription: String { description }

    /// A mirror without children, so that dumping a value shows no more than its description.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// How a password becomes a key.
///
/// Whichever it is, the numbers and a random salt are kept in the database's manifest, so a database
/// opens with what it was made with, also when a later release chooses other numbers.
public struct PasswordDerivation: Sendable, Equatable {
    enum Function: Sendable, Equatable {
        case scrypt(KeyDerivation.ScryptCost)
        case pbkdf2(rounds: Int)
    }

    /// The fewest rounds of PBKDF2 that are accepted for new keys.
    public static let leastRounds = 600_000

    let function: Function

    /// scrypt with N = 65,536, r = 8, p = 2: 64 MB of memory while it runs, which is what makes
    /// guessing expensive on hardware that is made for it. The default.
    public static let scrypt = PasswordDerivation(
        function: .scrypt(
            KeyDerivation.ScryptCost(cost: 65_536, blockSize: 8, parallelism: 2)))

    /// PBKDF2 with HMAC-SHA-256, where 64 MB are too much, or rules ask for it.
    ///
    /// - Parameter rounds: How many. Fewer than 600,000 are taken for that many, and more than 10,000,000 for
    ///   that many, which is the most that a database is opened with.
    /// - Returns: The derivation.
    public static func pbkdf2(rounds: Int = leastRounds) -> PasswordDerivation {
        let accepted = min(max(rounds, leastRounds), DerivationBounds.rounds)
        return PasswordDerivation(function: .pbkdf2(rounds: accepted))
    }
}

/// Tells whether a key is the one that was accepted before, without deriving anything from it.
struct KeyFingerprint: Sendable, Equatable {
    private static let secret = SecretBytes.random(count: KeyDerivation.keySize)
    private let hash: SecretBytes

    init(_ key: EncryptionKey) {
        // The key is the message here, so it must lie in a secret's memory, too, and not in an array.
        let inner = key.secret.withBytes { bytes in
            SecretBytes(count: bytes.count + 1) { out in
                out[0] = key.kind.rawValue
                for index in bytes.indices { out[index + 1] = bytes[index] }
            }
        }
        hash = KeyDerivation.subkey(of: inner, for: Self.secret.withBytes { Array(copying: $0) })
    }

    static func == (left: KeyFingerprint, right: KeyFingerprint) -> Bool {
        left.hash.equals(right.hash)
    }
}

extension [UInt8] {
    /// Copies what is lent.
    init(copying span: Span<UInt8>) {
        self.init()
        reserveCapacity(span.count)
        for index in span.indices { append(span[index]) }
    }
}
