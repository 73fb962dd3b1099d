// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
package import DivanStorage
internal import DivanSystem

/// Writes a closed database anew: encrypted with a new key of its data, or not encrypted.
///
/// It is the generation that is rewritten; `GenerationRewriting` sees to it that there is the old one
/// whole or the new one whole. The content of each attachment is read as the old form has it and written
/// as the new one wants it.
struct EncryptionRewriting {
    /// The directory, whose lock is held exclusively.
    let directory: DatabaseDirectory
    /// The user's new key; nil to remove the encryption.
    let key: EncryptionKey?
    let busyTimeout: Duration
    let progress: ProgressHandler?

    /// Does the work.
    ///
    /// - Throws: `DatabaseError` as `GenerationRewriting`, and with code `.unsupportedStorageEngine` when
    ///   the engine cannot encrypt: the database is then as it was. With code `.io` when the old data
    ///   could not be removed: the database has its new form then.
    func run() throws {
        let engine = try KnownEngines.engine(
            named: directory.manifest.engine, keeping: directory.path)
        let form = try GenerationForm(
            engine: engine, encryptedWith: key, busyTimeout: busyTimeout, path: directory.path)
        var options = DatabaseOptions()
        options.busyTimeout = busyTimeout
        try GenerationRewriting(
            directory: directory, form: form,
            options: options.unlocked(directory.access.dataKey), progress: progress
        ).run()
        guard !Files.exists(directory.dataPath) else {
            throw DatabaseError.oldDataStay(
                Files.lastComponent(of: directory.dataPath), directory.path)
        }
    }
}

extension GenerationForm {
    /// The form of data that are encrypted with a new key of their own, or not encrypted.
    ///
    /// - Parameters:
    ///   - engine: The engine that keeps them.
    ///   - key: The user's key; nil for no encryption.
    ///   - busyTimeout: How long to wait for locks.
    ///   - path: The database, for the error.
    /// - Throws: `DatabaseError` with code `.unsupportedStorageEngine` when the engine cannot encrypt, or
    ///   `.io` when there is not enough memory to derive the key.
    package init(
        engine: StorageEngineFactory, encryptedWith key: EncryptionKey?, busyTimeout: Duration,
        path: String
    ) throws {
        if key != nil, !engine.canEncrypt {
            throw DatabaseError.keyUnsupported(by: engine.identifier, path)
        }
        let access = try DatabaseAccess(exactly: key)
        var options = DatabaseOptions()
        options.busyTimeout = busyTimeout
        self.init(engine: engine, options: options.unlocked(access.dataKey).storageOptions)
        let (dataKey, wrapping) = (access.dataKey, access.wrapping)
        record = { $0.encryption = wrapping }
        transfer = { content, store, folder in
            try Self.transfer(content, from: store, to: folder, dataKey)
        }
    }

    /// Writes one content in its new form; false when it is not there.
    private static func transfer(
        _ key: AttachmentKey, from store: AttachmentStore, to folder: String, _ dataKey: DataKey?
    ) throws -> Bool {
        guard let source = try store.open(key) else { return false }
        let path = folder + "/" + AttachmentNames(key: dataKey?.names).name(of: key)
        let target = try FileHandle(path: path, [.read, .write, .new])
        let writer = try ContentWriter(target, dataKey: dataKey)
        let check = KeyCheck(key, by: store.digest)
        let reader = FileReader(source, length: nil)
        while true {
            let piece = try reader.read(upTo: AttachmentStore.chunkSize)
            if piece.isEmpty { break }
            check.update(piece)
            try writer.write(piece)
        }
        guard check.finish() else {
            throw DatabaseError.corrupted("The attachment \(key.fileName)", nil)
        }
        try writer.finish(key)
        try target.synchronise()
        return true
    }
}
