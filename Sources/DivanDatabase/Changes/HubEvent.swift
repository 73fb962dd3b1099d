// SPDX-License-Identifier: Apache-2.0

package import DivanModel

/// What a follower of `ChangeHub` is told.
package enum HubEvent: Sendable {
    /// Something was committed.
    case changed(HubChange)
    /// The database was closed; nothing comes after this.
    case closed
}

/// Documents that changed: which, not how. A follower that needs more reads the database.
package struct HubChange: Sendable {
    /// A read that begins now sees at least what had this sequence and this purge.
    var lastSequence: SequenceNumber
    var lastPurge: UInt64
    /// The documents that changed or were purged, in order; one may come twice. Empty when only a
    /// handle was closed, or with `isOfAnyDocument`.
    package var documentIDs: [DocumentID]
    /// Where the changes come from.
    package var source: ChangeSource
    /// Whether unknown documents changed: compaction has forgotten which were purged. So any
    /// document may have.
    var isOfAnyDocument = false
}
