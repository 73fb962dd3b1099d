// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase

/// How a copy of a database is encrypted.
///
/// ```swift
/// try database.backup(to: url, encryption: .key(.password("for the drawer")))
/// try manager.replaceDatabase(named: "app", from: shipped, encryption: .key(key))
/// ```
public enum CopyEncryption: Sendable {
    /// As its source is, with the same keys. Its files are copied as they are.
    case unchanged
    /// Not at all.
    case none
    /// With this key, and a key of its data that nothing else has. All data are written anew for it, and no
    /// byte that is not encrypted reaches the disk.
    case key(EncryptionKey)

    /// The form of a copy; `nil` where it has that of its source.
    ///
    /// - Throws: `DatabaseError` with code `.unsupportedStorageEngine` when the source's engine cannot
    ///   encrypt.
    func form(of source: DatabaseCore, at path: String) throws -> GenerationForm? {
        switch self {
        case .unchanged: return nil
        case .none where source.options.dataKey == nil: return nil
        case .none: return try form(of: source, at: path, key: nil)
        case .key(let key): return try form(of: source, at: path, key: key)
        }
    }

    private func form(
        of source: DatabaseCore, at path: String, key: EncryptionKey?
    ) throws -> GenerationForm {
        try GenerationForm(
            engine: KnownEngines.engine(named: source.engineName, keeping: path),
            encryptedWith: key,
            busyTimeout: source.options.busyTimeout, path: path)
    }
}
