// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Who may open a database: what its manifest says of encryption, and the key that fitted.
///
/// The key itself is not kept, nor is what was derived from it; only the data key, which the engine
/// needs, and a fingerprint, so that another handle of this process need not derive it again.
///
/// State: `accepted`, guarded by its mutex.
package final class DatabaseAccess: Sendable {
    /// The key of the data; nil for a database that is not encrypted.
    package let dataKey: DataKey?
    /// The wrapping in the form of now, where the manifest had one of an older format.
    private let renewed: KeyWrapping?
    private struct Accepted: Sendable {
        var wrapping: KeyWrapping?
        var fingerprint: KeyFingerprint?
    }

    private let accepted: Mutex<Accepted>

    /// Access to a database that is about to be made.
    ///
    /// - Throws: `DatabaseError` with code `.io` when there is not enough memory to derive the key.
    package convenience init(making key: EncryptionKey?) throws {
        try self.init(exactly: key ?? StandardKey.current)
    }

    /// The same with this key, or with none.
    init(exactly key: EncryptionKey?) throws {
        dataKey = key.map { _ in DataKey.random() }
        renewed = nil
        accepted = Mutex(
            Accepted(
                wrapping: try Self.wrapping(dataKey, key), fingerprint: key?.fingerprint))
    }

    private static func wrapping(_ dataKey: DataKey?, _ key: EncryptionKey?) throws -> KeyWrapping?
    {
        guard let dataKey, let key else { return nil }
        return try KeyWrapping(dataKey, with: key)
    }

    /// Access to a database that exists. Nothing but its manifest is looked at.
    ///
    /// - Throws: `DatabaseError` with code `.unauthorized` when the key is another one, when there is
    ///   none and one is needed, and when there is one and none is needed; `.corrupted` when another program
    ///   has changed the manifest.
    init(_ manifest: Manifest, _ key: EncryptionKey?, path: String) throws {
        let key = Self.completed(key, for: manifest.encryption)
        let opened = try Self.open(manifest.encryption, key, path)
        try manifest.checkProof(by: opened?.dataKey, path: path)
        dataKey = opened?.dataKey
        renewed = opened?.renewed
        accepted = Mutex(
            Accepted(wrapping: manifest.encryption, fingerprint: key?.fingerprint))
    }

    /// Access for who has it already, such as a copy of a database that is open.
    init(_ dataKey: DataKey?, wrapping: KeyWrapping?) {
        self.dataKey = dataKey
        renewed = nil
        accepted = Mutex(Accepted(wrapping: wrapping, fingerprint: nil))
    }

    private static func completed(
        _ key: EncryptionKey?, for wrapping: KeyWrapping?
    ) -> EncryptionKey? {
        key ?? (wrapping == nil ? nil : StandardKey.current)
    }

    private static func open(
        _ wrapping: KeyWrapping?, _ key: EncryptionKey?, _ path: String
    ) throws -> (dataKey: DataKey, renewed: KeyWrapping)? {
        switch (wrapping, key) {
        case (nil, nil): return nil
        case (nil, .some): throw DatabaseError.needlessKey(path)
        case (.some, nil): throw DatabaseError.missingKey(path)
        case (let wrapping?, let key?): return try wrapping.unwrap(with: key, path: path)
        }
    }

    /// What the manifest of the database is to say.
    package var wrapping: KeyWrapping? { accepted.withLock { $0.wrapping } }

    /// Makes a manifest one of the newest format, which is proven when there is a key.
    func renew(_ manifest: inout Manifest) {
        if let renewed, manifest.encryption == wrapping { manifest.encryption = renewed }
        manifest.format = manifest.newestFormat
    }

    /// Whether this is access to a database whose manifest says this.
    func fits(_ manifest: Manifest) -> Bool { wrapping == manifest.encryption }

    /// Checks the key of another handle.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - current: The manifest as it is now: another process may have changed the key.
    ///   - path: Where the database lies, for the error.
    /// - Throws: as `init(_:_:path:)`.
    func check(_ key: EncryptionKey?, _ current: Manifest?, path: String) throws {
        let known = accepted.withLock { $0 }
        let wrapping = current.map { $0.encryption } ?? known.wrapping
        let key = Self.completed(key, for: wrapping)
        if let key, let fingerprint = known.fingerprint, wrapping == known.wrapping,
            fingerprint == key.fingerprint
        {
            return
        }
        _ = try Self.open(wrapping, key, path)
        accept(wrapping, key)
    }

    /// Notes which key opens the database from now on.
    func accept(_ wrapping: KeyWrapping?, _ key: EncryptionKey?) {
        let fingerprint = key?.fingerprint
        accepted.withLock { $0 = Accepted(wrapping: wrapping, fingerprint: fingerprint) }
    }
}
