// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel

/// What an editor holds of one document: the value as it is shown, and whether it differs from the
/// document.
///
/// A save tells the editor at once, though the batch that it is part of may still be undone. So the
/// editor remembers what it held before, beside the outcome of that batch, as a `MutableDocument`
/// does, and `settle()` goes back when the batch was undone: an edit is never lost with its batch.
struct ModelEdits<Model: DocumentModel> {
    /// A save whose batch was not known to be committed when it was noted.
    struct Save {
        var outcome: BatchOutcome
        /// What the editor held before the save.
        var former: Model
        var formerBaseline: JSONObject?
        var formerMark: DatabaseMark
    }

    /// The value that is shown; its identity names the revision that it was made from.
    private(set) var value: Model
    /// With edits: the properties of that revision as the type encodes them, if they are known.
    private(set) var baseline: JSONObject?
    /// Whether the value has edits that are not saved.
    private(set) var isEdited: Bool
    /// Where the database stood when the value was read or saved.
    private(set) var mark: DatabaseMark
    /// Counts edits and saves, so that work done outside the lock can tell whether it is out of date.
    private(set) var version = 0
    private var saves: [Save] = []

    /// Holds a value whose revision has these properties, as the type encodes them; nil when that is
    /// not known.
    init(_ value: Model, baseline: JSONObject?, mark: DatabaseMark) {
        self.value = value
        self.baseline = baseline
        self.mark = mark
        isEdited = baseline == nil || Self.encoded(value) != baseline
    }

    /// The properties of a value as its type encodes them; nil for a value that does not encode.
    static func encoded(_ value: Model) -> JSONObject? { try? ModelCoding.encode(value).object }

    /// Whether every save is known to be committed or undone.
    var isSettled: Bool { saves.isEmpty }

    /// Whether the document may be shown in place of the value.
    var followsDocument: Bool { !isEdited && isSettled }

    /// Takes an edited value.
    ///
    /// - Parameters:
    ///   - edited: The value.
    ///   - encoded: Its properties.
    ///   - base: The value that it was made from.
    ///   - baseline: The properties of that; they count when there were no edits before.
    mutating func edit(
        _ edited: Model, encoded: JSONObject?, from base: Model, baseline: JSONObject?
    ) {
        if !isEdited { self.baseline = base.revisionID == nil ? nil : baseline }
        value = edited
        // An edit replaces properties, never which document or revision this is.
        value.identity = base.identity
        isEdited = self.baseline == nil || encoded != self.baseline
        version += 1
    }

    /// Shows what the document is, without edits.
    mutating func show(_ current: Model, mark: DatabaseMark) {
        value = current
        baseline = nil
        isEdited = false
        self.mark = mark
        saves = []
        version += 1
    }

    /// Shows another value in this copy of the state only; the editor does not change.
    mutating func showForNow(_ current: Model) { value = current }

    /// Notes that the value of a version was saved in a batch, as a value with these properties.
    mutating func noteSave(
        of saved: Model, encoded: JSONObject?, version savedVersion: Int,
        sequence: SequenceNumber, in outcome: BatchOutcome
    ) {
        // The first of several saves in one batch tells what to go back to.
        if saves.last?.outcome !== outcome {
            saves.append(
                Save(
                    outcome: outcome, former: value, formerBaseline: baseline, formerMark: self.mark
                ))
        }
        if version == savedVersion {
            value = saved
            isEdited = false
        } else {
            // Edits made since the save began are on top of what it stored.
            value.identity = saved.identity
        }
        baseline = encoded
        // Purges are counted separately, and a save is none.
        mark = DatabaseMark(sequence: sequence, purge: mark.purge)
        version += 1
    }

    /// Goes back to what was held before saves whose batch was undone since.
    mutating func settle() {
        while let save = saves.last {
            guard save.outcome.isUndone else {
                if save.outcome.isKept { saves = [] }
                return
            }
            saves.removeLast()
            if isEdited { value.identity = save.former.identity } else { value = save.former }
            baseline = save.formerBaseline
            mark = save.formerMark
            isEdited = true
            version += 1
        }
    }
}
