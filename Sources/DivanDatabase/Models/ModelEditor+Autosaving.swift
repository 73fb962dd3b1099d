// SPDX-License-Identifier: Apache-2.0

internal import DivanLogging
internal import DivanSystem
internal import Observation
internal import Synchronization

/// When an editor saves by itself, and the outcome.
struct AutosaveState {
    var isOn = false
    var delay = Duration.zero
    /// The save that is due; it holds the editor.
    var due: Task<Void, Never>?
    var failure: (any Error)?
}

extension ModelEditor {
    /// Whether edits are saved without a call of `save()`; false unless set.
    ///
    /// The save happens ``autosaveDelay`` after the first unsaved edit, on a thread of its own. Edits
    /// that follow do not postpone it, so nothing is unsaved for longer than that. While the database
    /// is suspended the save waits. A save that fails leaves the edits as they are, is logged, and is
    /// reported in ``autosaveFailure``; the next edit makes another save due.
    public var autosaves: Bool {
        get { autosaving.withLock { $0.isOn } }
        set {
            autosaving.withLock { $0.isOn = newValue }
            if newValue { scheduleAutosave() } else { cancelAutosave() }
        }
    }

    /// How long after the first unsaved edit an automatic save happens: at once unless set.
    ///
    /// It counts from the next save that becomes due.
    public var autosaveDelay: Duration {
        get { autosaving.withLock { $0.delay } }
        set { autosaving.withLock { $0.delay = max(.zero, newValue.bounded) } }
    }

    /// Why the last automatic save failed; nil when it did not, a save has succeeded since, or there
    /// is nothing to save.
    ///
    /// It is observed as the model is. With code `.conflict`, see ``rebase(_:)``.
    public var autosaveFailure: (any Error)? {
        // A save of another thread is noted in the edits before it is here.
        guard needsSave else { return nil }
        return autosaving.withLock { $0.failure }
    }

    /// Whether an automatic save is due; for tests.
    var isAutosaveDue: Bool { autosaving.withLock { $0.due != nil } }

    /// Makes an automatic save due, unless one is; calls it off where there is nothing to save.
    func scheduleAutosave() {
        if held.followsDocument {
            cancelAutosave()
            noteAutosave(failure: nil)
        }
        // What was called off may have been due for an edit that another thread has made since.
        guard held.isEdited, !database.isClosed else { return }
        autosaving.withLock { state in
            guard state.isOn, state.due == nil else { return }
            let (clock, delay) = (clock, state.delay)
            state.due = Task.detached { [self] in
                do { try await clock.sleep(for: delay) } catch { return }
                await database.waitWhileSuspended()
                try? await BlockingWork.run { [self] in saveIfDue() }
            }
        }
    }

    func cancelAutosave() {
        let due = autosaving.withLock { state in
            defer { state.due = nil }
            return state.due
        }
        // Outside the mutex, since the task may hold the last reference to this.
        due?.cancel()
    }

    func noteAutosave(failure: (any Error)?) {
        let isNews = autosaving.withLock { state in
            defer { state.failure = failure }
            return failure != nil || state.failure != nil
        }
        if isNews { announce() }
    }

    /// Carries out the automatic save that is due, if there is one.
    func saveIfDue() {
        guard isAutosaveDue else { return }
        do { try save() } catch {
            cancelAutosave()
            noteAutosave(failure: error)
            Log.database.warning(
                "The edits of document '\(id)' in the database '\(database.name)' could not be saved "
                    + "automatically and are kept in memory: \(Log.words(of: error))")
        }
    }
}
