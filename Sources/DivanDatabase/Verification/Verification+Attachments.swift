// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel
internal import DivanStorage
internal import DivanSystem

/// What the stored revisions refer to, as verification finds it in their bodies.
struct AttachmentAudit {
    /// The revisions that refer to a content, and how long its file must be, where a stub says so.
    struct Use {
        var documentID: DocumentID
        var fileLength: Int?
    }

    /// The rows that must be there, by key.
    private(set) var rows: [[UInt8]: DocumentID] = [:]
    /// The sequences whose rows say that their bodies refer to attachments.
    var marked: Set<SequenceNumber> = []
    private(set) var referring: [SequenceNumber: DocumentID] = [:]
    private(set) var uses: [AttachmentKey: Use] = [:]
    /// The contents that were not here when a revision was stored.
    var absent: Set<AttachmentKey> = []
    /// The contents that were here.
    var stored: Set<AttachmentKey> = []
    /// The MD5 that rows give of contents.
    var md5s: [AttachmentKey: [UInt8]] = [:]

    /// Notes what a body refers to.
    mutating func note(_ body: PackedValue, of id: DocumentID, _ sequence: SequenceNumber) {
        let keys = body.attachmentKeys
        guard !keys.isEmpty else { return }
        referring[sequence] = id
        for key in keys {
            rows[AttachmentReference.rowKey(key, sequence)] = id
            if uses[key] == nil { uses[key] = Use(documentID: id, fileLength: nil) }
        }
        body["_attachments"]?.forEachProperty { _, stub in
            let length = stub[stub["encoding"] == nil ? "length" : "encoded_length"]?.int64
            guard let key = stub["digest"]?.string.flatMap(AttachmentKey.init(ofStub:)),
                let length
            else { return }
            uses[key]?.fileLength = Int(length)
        }
    }

    /// Takes a row off the list; false when it was not listed.
    mutating func strike(_ row: [UInt8]) -> Bool { rows.removeValue(forKey: row) != nil }
}

extension Verification {
    /// Notes attachments whose names other databases refuse. New edits refuse them here, too.
    func noteNames(in body: PackedValue, of id: DocumentID) {
        body["_attachments"]?.forEachProperty { name, _ in
            let isEmpty = name.isEmpty
            guard isEmpty || name.utf8.first == UInt8(ascii: "_"),
                notices.count < Self.problemLimit
            else { return }
            let problem = isEmpty ? "is empty" : "begins with an underscore"
            notices.append(
                VerificationNotice(
                    message:
                        "The name of the attachment '\(name.prefix(200))' of document '\(id)' \(problem); "
                        + "it is kept, but other databases refuse it, and a PouchDB that pulls it stops "
                        + "there; save it under another name.",
                    documentID: id))
        }
    }

    /// Compares the rows of `attachmentReferences` with what bodies refer to.
    func checkReferences(_ snapshot: Snapshot) throws {
        for sequence in attachments.marked.symmetricDifference(attachments.referring.keys) {
            let id = attachments.referring[sequence]
            add(
                "The revision stored under sequence \(sequence) is marked wrongly as to whether it "
                    + "refers to attachments.", id)
        }
        try forEachRow(of: core.stores.attachmentReferences, snapshot) { cursor in
            try cursor.withRow { key, value in
                let (content, sequence) = try DatabaseCore.decoding(nil) {
                    try AttachmentReference.decode(key)
                }
                guard AttachmentReference.isWellFormed(value) else {
                    throw DatabaseError.corrupted("A reference to an attachment", nil)
                }
                if AttachmentReference.isAbsent(value) {
                    attachments.absent.insert(content)
                } else {
                    attachments.stored.insert(content)
                }
                if let md5 = AttachmentReference.md5(in: value) {
                    if let other = attachments.md5s.updateValue(md5, forKey: content), other != md5
                    {
                        throw DatabaseError.corrupted("A reference to an attachment", nil)
                    }
                }
                if !attachments.strike(AttachmentReference.rowKey(content, sequence)) {
                    add(
                        "The reference of sequence \(sequence) to the attachment "
                            + "\(content.fileName) belongs to no stored revision.", nil)
                }
            }
        }
        for (_, id) in attachments.rows {
            add("A revision of document '\(id)' lacks a reference to one of its attachments.", id)
        }
    }

    /// Looks at each content that is referred to; outside of the snapshot, since it may take long.
    func checkFiles() throws {
        var done = 0
        for key in attachments.stored {
            try progress.report(
                WorkProgress(
                    phase: "checking attachments", completed: done,
                    total: attachments.stored.count))
            done += 1
            let use = attachments.uses[key]
            let owner = use.map { " of document '\($0.documentID)'" } ?? ""
            let what = "The attachment \(key.fileName)\(owner)"
            guard let length = try core.attachments.length(of: key) else {
                // A compaction may have removed the last revision that had it, and the file.
                if try core.read({ try $0.isReferenced(key) }) {
                    add("\(what) has no file.", use?.documentID)
                }
                continue
            }
            if let expected = use?.fileLength, expected != length {
                add(
                    "\(what) has \(length) bytes in its file, not \(expected).", use?.documentID)
            } else if readsAttachments, try !isIntact(key) {
                add("\(what) has other bytes in its file than its digest says.", use?.documentID)
            }
        }
    }

    private func isIntact(_ key: AttachmentKey) throws -> Bool {
        do throws(SystemError) {
            guard let file = try core.attachments.open(key) else { return true }
            // Content that cannot be read is as bad as wrong content.
            let reader = FileReader(file, length: nil)
            let md5 = attachments.md5s[key]
            let check = KeyCheck(key, by: core.digest, takingMD5: md5 != nil)
            guard (try? check.isContent(reader)) ?? false else { return false }
            return md5 == nil || md5 == check.foundMD5
        } catch {
            if error.isDamage { return false }
            throw DatabaseError.io(error)
        }
    }
}

/// The files of attachments that no stored revision refers to.
public struct UnusedAttachments: Sendable {
    /// How many there are.
    public var files = 0
    /// Their bytes.
    public var bytes = 0
}

extension Database {
    /// Counts the files of attachments that no stored revision refers to, which `compact` removes.
    ///
    /// Such files are no damage: a revision that had them was compacted away or purged, or a process
    /// died before it could refer to them.
    ///
    /// - Throws: `DatabaseError` with code `.databaseClosed`, `.io` or `.corrupted`.
    public func unusedAttachments() throws -> UnusedAttachments {
        try checkOpen()
        var unused = UnusedAttachments()
        for key in try AttachmentSweep(core: core, progress: nil).unreferenced() {
            unused.files += 1
            unused.bytes += try core.attachments.length(of: key) ?? 0
        }
        return unused
    }
}
