// SPDX-License-Identifier: Apache-2.0

public import DivanModel
internal import DivanStorage
internal import Observation

/// A document as an object: one for each ID, which loads by itself and follows the database.
///
/// ```swift
/// let list = database.makeDocument()
/// try list.putProperties(["type": "list", "title": "Groceries"])
///
/// list["title"].string                         // "Groceries"
/// try list.update { $0["title"] = "Shopping" }
/// list["title"].string                         // "Shopping"
/// ```
///
/// Where a ``Document`` is a value of one revision and never changes, a live document stands for the
/// document itself. As long as the app holds it, asking for its ID gives the same object, so `===`
/// and `==` compare documents, and all parts of the app see each change.
///
/// ## Loading
///
/// Making one reads nothing and writes nothing: an ID that no document has gives a valid, empty
/// object, and the first save creates the document. The first look at a property reads the current
/// revision; after that a property costs a look-up in memory. The content of every live document
/// that was looked at stays in memory until the last reference to it goes, so do not hold on to a
/// great many; look documents up as they are needed.
///
/// Reading cannot throw here. Where it fails the document shows what it last knew, or nothing, and
/// ``loadFailure`` says why; `load()` throws it.
///
/// ## Following
///
/// ```
///  commit in this process      ──► out of date at once: the next reader reads the newer revision
///  commit by another process   ──► when it is noticed, by watching a file
///  purge                       ──► as any other; the object is then empty and may be saved anew
///  rollback                    ──► only the batch had seen it
/// ```
///
/// In a batch the thread that runs it sees what the batch has done; all others see what is
/// committed. A batch that is rolled back leaves no trace in the object.
///
/// The object is `Observable`, so a view that shows a property is drawn again when it changes.
/// Observers and listeners are told after the commit, in order, never on the thread that writes.
///
/// ## Saving
///
/// Three ways, which differ in what happens when another writer was faster:
///
/// - `update` reads the document again and calls its closure again until the save succeeds. It is
///   usually the right choice.
/// - `putProperties` needs the current `_rev` in the properties and throws `.conflict`.
/// - ``makeRevision()`` and `UnsavedRevision.save` throw `.conflict`, too, unless
///   told that a conflict is welcome.
///
/// ## Threads and tasks
///
/// It may be used from anywhere. Blocking methods may wait for the disk and for other writers; those
/// with `async` never block the threads that tasks share.
///
/// ## What it does not do
///
/// It keeps no edits: those are in an ``UnsavedRevision`` or a ``MutableDocument`` until they are
/// saved. Inside a `read` closure it shows the latest commit, not the closure's snapshot.
public final class LiveDocument: Sendable {
    /// The database that holds the document, or will. It stays open as long as this object is held.
    public let database: Database
    /// The ID of the document. It never changes.
    public let id: DocumentID
    let cache: DocumentCache
    let registrar = ObservationRegistrar()
    /// Tells whether the calling thread runs a batch; the core's, kept for quick access.
    let writer: ConnectionQueue<WriteContext>
    private let ticket: UInt64

    init(database: Database, documentID: DocumentID, cache: DocumentCache, ticket: UInt64) {
        self.database = database
        id = documentID
        self.cache = cache
        self.ticket = ticket
        writer = database.core.writer
    }

    deinit { database.live.remove(id, ticket: ticket) }

    /// The ID, shortened to its ends when it is long, for logs.
    public var abbreviatedID: String {
        id.text.count > 10 ? "\(id.text.prefix(4))..\(id.text.suffix(4))" : id.text
    }
}

extension LiveDocument: Identifiable {}

extension LiveDocument: Hashable {
    /// Whether both are the same object, and so the same document.
    public static func == (left: LiveDocument, right: LiveDocument) -> Bool { left === right }

    /// Hashes the object's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension LiveDocument: CustomStringConvertible, CustomDebugStringConvertible {
    /// The ID; never the content.
    public var description: String { "LiveDocument(\(id))" }

    /// The shortened ID and what is in memory of the current revision; reads nothing.
    public var debugDescription: String {
        let revision = cache.newest.map { $0.contents?.document.revisionID.description ?? "none" }
        return "LiveDocument(\(abbreviatedID) \(revision ?? "not loaded"))"
    }
}
