// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What a piece of work took: seconds of CPU of all threads, seconds on the wall, and a number that
/// depends on all of the work, so that none can be left out.
struct Timing {
    var cpu: Double
    var wall: Double
    var result: Int
    /// What a figure counts, where that is not the operations: the bytes of JSON text gone through.
    var units: Int?
    /// How long each operation took, where that is the question.
    var latencies: Latencies?
    /// The bytes of memory that the work took, where the process's peak is not what is asked for.
    var memory: Int?

    /// One line of JSON, as Floor/main.c prints it.
    func line(operations: Int) -> String {
        var line = """
            {"operations":\(units ?? operations),"cpu":\(cpu),"wall":\(wall),"result":\(result)
            """
        if let latencies {
            line += ",\"p50_ms\":\(latencies.percentile(0.5))"
            line += ",\"p99_ms\":\(latencies.percentile(0.99))"
        }
        if let memory { line += ",\"memory_mb\":\(Double(memory) / 1e6)" }
        return line + "}"
    }
}

/// Measures `work`.
func measuring(_ work: () throws -> Int) rethrows -> Timing {
    let cpu = cpuSeconds()
    let wall = ContinuousClock.now
    let result = try work()
    let elapsed = ContinuousClock.now - wall
    let (seconds, attoseconds) = elapsed.components
    return Timing(
        cpu: cpuSeconds() - cpu, wall: Double(seconds) + Double(attoseconds) / 1e18,
        result: result)
}

/// Measures `work`, with the processes that it starts and that end meanwhile.
func measuringWithChildren(_ work: () throws -> Int) rethrows -> Timing {
    let children = childSeconds()
    var timing = try measuring(work)
    timing.cpu += childSeconds() - children
    return timing
}

/// User and system time of the processes that have ended.
func childSeconds() -> Double {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_CHILDREN.rawValue), &usage)
    let (user, system) = (usage.ru_utime, usage.ru_stime)
    return Double(user.tv_sec + system.tv_sec) + Double(user.tv_usec + system.tv_usec) / 1e6
}

/// Measures what `work` has other threads do: the process's CPU time without that of this thread.
func measuringOthers(_ work: () throws -> Int) rethrows -> Timing {
    let own = cpuSeconds(CLOCK_THREAD_CPUTIME_ID)
    var timing = try measuring(work)
    timing.cpu -= cpuSeconds(CLOCK_THREAD_CPUTIME_ID) - own
    return timing
}

/// User and system time of all threads of the process, or of one.
private func cpuSeconds(_ clock: clockid_t = CLOCK_PROCESS_CPUTIME_ID) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
