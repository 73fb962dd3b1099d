// SPDX-License-Identifier: Apache-2.0

/// The reserved top-level properties in which a document's metadata stand beside its own ones.
///
/// A leading underscore always marks a reserved property, so an app gives none of its own such a
/// name. ``LiveDocument`` and revisions show the first four in their `properties`, and read them
/// in what is saved:
///
/// | property | meaning | in what is saved |
/// |---|---|---|
/// | ``id`` | the document's ID | must be that ID, or be left out |
/// | ``revision`` | the revision's ID | the revision that is edited |
/// | ``deleted`` | `true` in a tombstone, else not there | whether to make a tombstone |
/// | ``attachments`` | the attachments' metadata | what it names of the edited revision's is kept |
///
/// The others come with documents from elsewhere. Those that a peer computes for its reader are
/// passed over; everything else that begins with an underscore is refused.
public enum SpecialProperty: String, Sendable, CaseIterable {
    /// The document's ID.
    case id = "_id"
    /// The revision's ID.
    case revision = "_rev"
    /// Whether the revision is a tombstone.
    case deleted = "_deleted"
    /// The attachments' names, types, lengths and digests.
    case attachments = "_attachments"
    /// Whether the source of a replication took the document away from this database.
    case removed = "_removed"
    /// The IDs of the other live leaves.
    case conflicts = "_conflicts"
    /// The IDs of the other deleted leaves.
    case deletedConflicts = "_deleted_conflicts"
    /// The history, in short form.
    case revisions = "_revisions"
    /// The history, with the state of each revision.
    case revisionsInfo = "_revs_info"
    /// The sequence in the database that it was read from.
    case localSequence = "_local_seq"

    /// Whether a peer computes the property for its reader, so that it is not part of a body.
    var isComputed: Bool {
        switch self {
        case .conflicts, .deletedConflicts, .revisions, .revisionsInfo, .localSequence: true
        case .id, .revision, .deleted, .attachments, .removed: false
        }
    }

    /// Whether a key is reserved.
    ///
    /// - Parameter key: The name of a top-level property.
    /// - Returns: Whether it begins with an underscore.
    public static func isReserved(_ key: String) -> Bool { key.utf8.first == UInt8(ascii: "_") }
}
