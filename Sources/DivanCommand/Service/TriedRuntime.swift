// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Divan
internal import DivanJavaScript
internal import DivanSystem
internal import Synchronization

/// A runtime that is tried while the server starts.
///
/// Loading the engine takes longer than all else that a server does before it answers. So whether functions run here is
/// known when one is first asked for: a caller that comes before the trial has ended waits for it.
final class TriedRuntime: ScriptRuntime {
    private let runtime: JavaScriptRuntime
    private let trial = DispatchGroup()
    private let isRunning = Mutex(false)

    /// Starts the trial.
    ///
    /// - Parameters:
    ///   - runtime: What is tried.
    ///   - report: Gets the reason, on another thread, where it does not run.
    init(_ runtime: JavaScriptRuntime, report: @escaping @Sendable (ScriptError) -> Void) {
        self.runtime = runtime
        trial.enter()
        let work: @Sendable () -> Void = { [self] in
            defer { trial.leave() }
            do throws(ScriptError) {
                try runtime.verify()
                isRunning.withLock { $0 = true }
            } catch {
                report(error)
            }
        }
        do { try DetachedThread.start(work) } catch { work() }
    }

    /// `javascript`; none where it does not run.
    var languages: NameSet {
        trial.wait()
        return isRunning.withLock { $0 } ? runtime.languages : []
    }

    var server: ScriptServer { runtime.server }
}
