// SPDX-License-Identifier: Apache-2.0

internal import DivanModel
internal import Synchronization

/// What runs the functions of design documents for a database, in a module above.
package protocol DesignFunctionSource: AnyObject, Sendable {
    /// Whether it runs the validation functions of design documents, if there are some.
    var validates: Bool { get }

    /// Whether it runs the functions of design documents in a language.
    func runs(_ language: String) -> Bool

    /// Asks the validation functions of all design documents about a revision, inside the write transaction.
    ///
    /// - Throws: What refuses the revision, or why a function could not be asked.
    func validate(_ revision: Document, _ context: ValidationContext) throws

    /// The filter `design/filter` of a design document; nil when there is none.
    func filter(named name: String) throws -> FilterFunction?
}

/// The source that a database has, if any.
///
/// Whether there are validation functions is asked with each write, so that costs one load. It changes in the turn of a writer: a writer that
/// stores a design document says yes, and the source says no when it has looked at all of them and found none.
final class DesignFunctionTable: Sendable {
    /// Those of all handles, the newest last.
    private let sources = Mutex<[any DesignFunctionSource]>([])
    private let validating = Atomic<Bool>(false)

    /// The source, when it is to be asked about new revisions.
    var validator: (any DesignFunctionSource)? {
        validates ? sources.withLock { $0.last { $0.validates } } : nil
    }

    /// The source for anything else: one that validates, if there is one, since that is what must not be passed by.
    var current: (any DesignFunctionSource)? {
        sources.withLock { sources in sources.last { $0.validates } ?? sources.last }
    }

    var validates: Bool { validating.load(ordering: .acquiring) }

    /// Says whether there may be validation functions.
    func setValidating(_ isValidating: Bool) {
        sources.withLock { sources in
            let validates = sources.contains { $0.validates }
            validating.store(isValidating && validates, ordering: .releasing)
        }
    }

    /// Adds a source, or moves it to the end.
    func add(_ source: any DesignFunctionSource) {
        sources.withLock { sources in
            sources.removeAll { $0 === source }
            sources.append(source)
        }
        setValidating(true)
    }

    /// Removes a source.
    func remove(_ source: any DesignFunctionSource) {
        sources.withLock { sources in sources.removeAll { $0 === source } }
        setValidating(true)
    }
}

extension Database {
    /// Has a source run the functions of design documents, for all handles on the database.
    ///
    /// - Parameter source: The source.
    /// - Returns: What ends that.
    package func addDesignFunctions(
        _ source: any DesignFunctionSource
    ) -> @Sendable () -> Void {
        core.designFunctions.add(source)
        return { [core, weak source] in
            if let source { core.designFunctions.remove(source) }
        }
    }

    /// Calls a closure after commits, of whatever process, that may have changed a design document.
    ///
    /// It runs on the queue of the database's notifications: it must be short.
    package func whenDesignDocumentsChange(
        _ handler: @escaping @Sendable () -> Void
    ) -> ListenerToken {
        core.hub.follow { event in
            guard case .changed(let change) = event,
                change.isOfAnyDocument || change.documentIDs.contains(where: \.isDesign)
            else { return }
            handler()
        }
    }

    /// Finds out in the turn of a writer whether validation functions are to be asked.
    ///
    /// - Parameter body: Says whether there are some.
    /// - Throws: `DatabaseError`, and what `body` throws.
    package func setDesignValidation(_ body: () throws -> Bool) throws {
        try core.write { _ in core.designFunctions.setValidating(try body()) }
    }
}
