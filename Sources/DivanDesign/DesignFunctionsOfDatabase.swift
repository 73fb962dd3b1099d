// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel
internal import Synchronization

/// What is kept of a database's design documents while it is open: runtimes, and the functions that processes have learned.
///
/// A design document is looked at in the revision that it has when one of its functions is called. What was made of an earlier revision
/// is forgotten then; mappers stay while the map functions do, so that a change of anything else costs no new process.
///
/// State: `state`, guarded by its mutex. No script runs while it is held.
final class DesignFunctionsOfDatabase: ModuleState, DesignFunctionSource {
    /// A design document as it stood. A sequence is used again after a batch that was undone, and a revision ID after a purge; never
    /// both.
    struct Seen: Equatable {
        var id: DocumentID
        var sequence: SequenceNumber
        var revision: RevisionID
    }

    struct Known {
        var seen: Seen
        var views: DesignViews
        var mapper: ScriptMapper
    }

    struct State {
        var runtimes: [any ScriptRuntime] = []
        var validates = false
        var isDecided = false
        /// Whether the indexes that design documents declare are made.
        var makesIndexes = true
        weak var database: Database?
        /// Views by the ID of their design document.
        var views: [DocumentID: Known] = [:]
        /// Search indexes by the names of their views.
        var searches: NameMap<KnownSearch> = [:]
        /// Validation functions, and the design documents that they are of.
        var rules: [DesignRule] = []
        var rulesOf: [Seen]?
        /// The design documents that the indexes have been made by.
        var indexesOf: [Seen]?
        /// Text indexes, and the design documents that declare them.
        var textIndexes: [TextIndex] = []
        var textIndexesOf: [Seen]?
        /// Says that a commit has come.
        var following: ListenerToken?
        /// Takes this source from the database.
        var removal: (@Sendable () -> Void)?
    }

    let state = Mutex(State())

    /// Whether neither the app nor a listener has said what runs.
    var isUndecided: Bool { state.withLock { !$0.isDecided } }

    private var hasRuntimes: Bool { state.withLock { !$0.runtimes.isEmpty } }

    var validates: Bool { state.withLock(\.validates) }

    func enable(
        _ runtimes: [any ScriptRuntime], validates: Bool, _ database: Database,
        makesIndexes: Bool = true
    ) {
        close()
        state.withLock { state in
            (state.runtimes, state.validates, state.database) = (runtimes, validates, database)
            (state.isDecided, state.makesIndexes) = (true, makesIndexes)
        }
        let removal = database.addDesignFunctions(self)
        let token = database.whenDesignDocumentsChange { [weak self] in self?.lookAgain() }
        state.withLock { ($0.following, $0.removal) = (token, removal) }
        lookAgain()
    }

    func disable() {
        close()
        state.withLock { $0.isDecided = true }
    }

    func close() {
        let old = state.withLock { state in
            defer { state = State() }
            return state
        }
        old.removal?()
    }

    func runs(_ language: String) -> Bool {
        language.hasSameBytes(as: QueryIndexes.language) || processes(for: language) != nil
    }

    func processes(for language: String) -> (any ScriptProcesses)? {
        state.withLock { state in
            state.runtimes.first { $0.languages.contains(language) }?.server.processes
        }
    }

    /// What runs the functions of a design document.
    func processes(for document: Document) throws -> any ScriptProcesses {
        let language = document["language"].string ?? "javascript"
        if let processes = processes(for: language) { return processes }
        throw DatabaseError(
            .scriptFailed,
            "Nothing here runs the functions of '\(document.id)'; enable a runtime of its language.",
            documentID: document.id,
            underlying: hasRuntimes
                ? ScriptError(
                    .unavailable, "Nothing here runs the language of the design document.",
                    name: "unknown_query_language", reason: language)
                : ScriptError(
                    .unavailable, "Nothing here runs functions of design documents.",
                    name: "not_implemented",
                    reason:
                        "Nothing here runs functions in \(language.prefix(100)): the server needs a "
                        + "runtime for scripts, or the app can register the function itself."))
    }

    func functions(of document: Document, _ database: Database) throws -> DesignFunctions {
        DesignFunctions(
            document, of: database.incarnation, by: try processes(for: document))
    }

    func trial(of document: Document, _ database: Database) throws -> DesignTrial {
        DesignTrial(document, in: database, by: try processes(for: document))
    }
}
