// SPDX-License-Identifier: Apache-2.0

internal import CLibrary
internal import CSandbox
internal import CScriptEngine
internal import DivanSystem

/// The program `divan-javascript`, which runs the scripts of a design document.
///
/// It reads commands of CouchDB's query-server protocol from standard input, one a line, and writes answers to standard output. It
/// ends with its input.
///
///     divan-javascript [--engine javascriptcore|duktape] [--memory MEGABYTES] [--time SECONDS] [--jit]
///
/// It gives up what scripts do not need before it reads the first line:
///
///     descriptors, environment, folder, core     before the engine is loaded
///     memory                                      when the engine has reserved its address space
///     files, network, processes                   by a filter of system calls, where the system has one
///     time                                        before each command, as the last resort: the parent keeps the deadline
enum WorkerProgram {
    /// What the parent gets as exit status.
    private enum Status {
        static let fatalError: Int32 = 1
        static let engineMissing: Int32 = 2
        static let memoryExhausted = Int32(DIVAN_JAVASCRIPT_EXHAUSTED)
        static let notSealed: Int32 = 4
        static let wrongUse: Int32 = 64
    }

    static func main() {
        guard let options = WorkerOptions(CommandLine.arguments.dropFirst()) else {
            end(
                Status.wrongUse,
                "usage: divan-javascript [--engine javascriptcore|duktape] [--memory MEGABYTES] [--time SECONDS] [--jit]"
            )
        }
        begin(options)
        let engine = options.engine.name
        guard options.engine.load(memory: options.memory) else {
            end(
                Status.engineMissing,
                "The library \(engine) is not here; scripts/bootstrap says its package.")
        }
        let lines = StandardLines(seconds: options.seconds)
        var contexts = WorkerContexts(lines)
        guard contexts.begin() else {
            end(Status.engineMissing, "This \(engine) cannot run the prelude.")
        }
        seal(options)
        while let line = lines.next() {
            guard let answer = contexts.answer(line) else {
                end(Status.memoryExhausted, "The memory is not enough for an answer.")
            }
            lines.write(answer)
        }
    }

    private static func begin(_ options: WorkerOptions) {
        // SAFETY: the environment keeps the copies, so they are never freed.
        let variables = unsafe options.environment.map { unsafe strdup($0) }
        guard unsafe divan_sandbox_begin(variables, variables.count) == 0 else {
            end(Status.notSealed, "The process cannot give up its environment.")
        }
    }

    private static func seal(_ options: WorkerOptions) {
        guard divan_sandbox_limit_memory(options.addressSpace) == 0,
            divan_sandbox_filter(options.usesJIT ? 1 : 0) == 0
        else { end(Status.notSealed, "The process cannot be bounded.") }
    }

    /// Writes an answer and ends, as after an error that is fatal.
    static func endFatally() -> Never { CurrentProcess.exitAtOnce(Status.fatalError) }

    private static func end(_ status: Int32, _ sentence: String) -> Never {
        StandardLines.writeError("divan-javascript: \(sentence)")
        CurrentProcess.exitAtOnce(status)
    }
}
