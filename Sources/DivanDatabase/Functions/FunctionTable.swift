// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import Synchronization

/// Functions that an app has registered by name, for as long as the process has the database open.
///
/// One mutex guards the table. The count beside it lets a caller that finds the table empty, which
/// is usual, go on at the cost of one load.
final class FunctionTable<Function: Sendable>: Sendable {
    private let functions = Mutex<NameMap<Function>>([:])
    private let count = Atomic<Int>(0)

    var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

    /// The function of a name; setting one replaces it, setting nil removes it.
    subscript(name: String) -> Function? {
        get { isEmpty ? nil : functions.withLock { $0[name] } }
        set {
            functions.withLock { functions in
                functions[name] = newValue
                count.store(functions.count, ordering: .releasing)
            }
        }
    }

    /// Removes all functions; what they hold is released outside the mutex.
    func removeAll() {
        let removed = functions.withLock { functions in
            count.store(0, ordering: .releasing)
            defer { functions = [:] }
            return functions
        }
        withExtendedLifetime(removed) {}
    }

    /// All functions, in the order of their names.
    var all: [(name: String, function: Function)] {
        guard !isEmpty else { return [] }
        let functions = functions.withLock { $0 }
        return functions.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}
