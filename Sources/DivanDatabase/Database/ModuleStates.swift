// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// What a module above this one keeps for as long as a database is open: one object of each type.
///
/// A stored property must have a type that is declared here or below. The views of a database, for example, are
/// declared above, so the module above asks for them by their type:
///
/// ```swift
/// final class ViewRegistry: ModuleState { … }
///
/// extension Database {
///     var views: ViewRegistry { states.state(of: ViewRegistry.self) }
/// }
/// ```
///
/// `Database` has one for each handle, `DatabaseCore` one for all handles on a directory.
///
/// State: `states` and whether they are closed, under one mutex. States are closed outside it.
package final class ModuleStates: Sendable {
    private struct States {
        var byType: [ObjectIdentifier: any ModuleState] = [:]
        var isClosed = false
    }

    private let states = Mutex(States())

    /// The state of a type, which is made when it is first asked for: closed, if the database is.
    package func state<State: ModuleState>(of type: State.Type) -> State {
        let (state, isLate) = states.withLock { states -> (State, Bool) in
            let key = ObjectIdentifier(type)
            if let state = states.byType[key] as? State { return (state, false) }
            let state = State()
            states.byType[key] = state
            return (state, states.isClosed)
        }
        if isLate { state.close() }
        return state
    }

    /// Tells every state that its database is closed.
    func close() {
        let open = states.withLock { states in
            states.isClosed = true
            return Array(states.byType.values)
        }
        for state in open { state.close() }
    }
}

/// One object that ``ModuleStates`` makes and keeps.
package protocol ModuleState: AnyObject, Sendable {
    /// Makes the state of a database that was just opened.
    init()

    /// Says that the database has been closed; the state itself stays as long as the database object.
    func close()
}
