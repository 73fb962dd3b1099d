// SPDX-License-Identifier: Apache-2.0

/// What scripts may take: time and memory of each command, and bytes of each answer.
///
/// ```swift
/// var limits = JavaScriptLimits()
/// limits.time = .seconds(1)
/// let runtime = JavaScriptRuntime(limits: limits)
/// ```
public struct JavaScriptLimits: Sendable {
    /// How long a command may take; 5 seconds, as in CouchDB. A script that takes longer is ended with its process. The start
    /// of a process does not count.
    public var time: Duration = .seconds(5)
    /// How many bytes a process may take beyond what its engine takes; 64 MB, as in CouchDB.
    ///
    /// It is rounded up to whole megabytes. JavaScriptCore takes about 20 MB, and Duktape 3.
    public var memory = 64 << 20
    /// How many bytes an answer may have, with what the script logs; 64 MB.
    public var answer = 64 << 20
    /// How many processes may run; 8. One that is idle ends when another design document needs one.
    public var processes = 8
    /// How many processes may run the scripts of one design document; 2. Further callers wait, so that a slow design document
    /// does not take the processes of all others.
    public var processesPerScript = 2
    /// Whether the engine compiles scripts to machine code. They then take about half the time, and the process may execute memory
    /// that it has written, which it cannot otherwise.
    public var usesJIT = false

    /// Makes the default limits.
    public init() {}

    /// The limit of memory in megabytes, as the worker takes it.
    var megabytes: Int { min((max(memory, 1) - 1) >> 20 + 1, 65_536) }
}
