// SPDX-License-Identifier: Apache-2.0

package import DivanStorage
internal import DivanSystem

/// In what form a generation is kept: which engine, with which options, and how attachments lie.
///
/// `GenerationRewriting` makes a generation of another form out of the current one. It does not know
/// what a form means: the options go to the engine as they are, `record` writes what the manifest
/// has to say of the form, and `transfer` puts the content of one attachment in its place.
package struct GenerationForm {
    /// The engine.
    var engine: StorageEngineFactory
    /// The engine's options: durability, caches, and the key when there is one.
    var options: StorageOptions
    /// The key of the data in this form; nil when they are not encrypted.
    package var dataKey: DataKey? { options.encryptionKey as? DataKey }
    /// Writes into the manifest what must be known to open the generation, besides the engine's name.
    package var record: (inout Manifest) -> Void = { _ in }
    /// Puts the content of an attachment into the new generation.
    package var transfer: ContentTransfer = Self.link

    /// Puts the content of one attachment into a folder, forced to the disk.
    ///
    /// Gets its key, the store it lies in, and the folder. Returns false when there is no such content.
    /// The folder is forced to the disk afterwards.
    package typealias ContentTransfer = (AttachmentKey, AttachmentStore, String) throws -> Bool

    /// Gives the file a second name, or copies it where that cannot be done. It is never changed.
    package static func link(_ key: AttachmentKey, _ store: AttachmentStore, _ folder: String)
        throws
        -> Bool
    {
        guard let file = store.path(of: key), Files.exists(file) else { return false }
        try Files.linkOrCopy(file, to: folder + "/" + store.fileName(of: key))
        return true
    }

    /// Copies the file as it is: it belongs to another program, which may write into it.
    package static func copy(_ key: AttachmentKey, _ store: AttachmentStore, _ folder: String)
        throws
        -> Bool
    {
        guard let file = store.path(of: key), Files.exists(file) else { return false }
        try Files.copy(file, to: folder + "/" + store.fileName(of: key))
        return true
    }

    /// Puts the contents that rows refer to into a generation, and forces its folder to the disk.
    ///
    /// - Parameters:
    ///   - contents: The contents, and whether each must be there.
    ///   - store: Where they lie.
    ///   - dataPath: The directory of the generation, which gets a folder when there is any content.
    ///   - transfer: Puts each of them there.
    ///   - report: Gets the contents done and their number, before each and at the end.
    /// - Throws: `DatabaseError` with code `.corrupted` when one is missing that must be there,
    ///   `SystemError`, and what `transfer` and `report` throw.
    package static func transfer(
        _ contents: [AttachmentReference.Content], from store: AttachmentStore,
        to dataPath: String, by transfer: ContentTransfer,
        report: (_ contents: Int, _ total: Int) throws -> Void
    ) throws {
        guard !contents.isEmpty else { return }
        let folder = AttachmentStore.folder(in: dataPath)
        try Files.makeDirectory(folder)
        for (number, content) in contents.enumerated() {
            try report(number, contents.count)
            let isThere = try transfer(content.key, store, folder)
            guard isThere || !content.isNeeded else {
                throw DatabaseError.corrupted("The attachment \(content.key.fileName)", nil)
            }
        }
        try report(contents.count, contents.count)
        try Files.synchroniseDirectory(folder)
    }

    /// Fills a generation in this form with every row of an engine's stores, forced to the disk.
    ///
    /// - Parameters:
    ///   - dataPath: The directory of the generation, which is empty.
    ///   - source: The engine, which may be in use: one snapshot of it is copied.
    ///   - report: Gets the rows done and their number.
    /// - Throws: `StorageError`, `DatabaseError` with code `.corrupted` when rows are missing in the end,
    ///   and what `report` throws.
    package func fill(
        _ dataPath: String, from source: any StorageEngine,
        report: (_ rows: Int, _ total: Int) throws -> Void
    ) throws {
        var options = options
        options.isReadOnly = false
        options.createsIfMissing = true
        // The data is not in use yet, so one sync at the end is enough.
        options.durability = .normal
        let target = try engine.open(directory: dataPath, options: options)
        defer { target.close() }
        try withoutActuallyEscaping(report) {
            try StoreCopying(source: source, target: target, report: $0).run()
        }
        try target.sync()
    }
}
