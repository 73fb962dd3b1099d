// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The machine in one line, since a figure without its machine says nothing.
func machineLine() -> String {
    let processors = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
    let model =
        processors.split(separator: "\n").first { $0.hasPrefix("model name") }?
        .split(separator: ":").last?.trimmingCharacters(in: .whitespaces) ?? "unknown processor"
    let memory = ProcessInfo.processInfo.physicalMemory / 1_000_000_000
    let system = ProcessInfo.processInfo.operatingSystemVersionString
    return """
        \(model), \(ProcessInfo.processInfo.activeProcessorCount) cores, \(memory) GB, \(system), \
        load \(loadAverage())
        """
}

private func loadAverage() -> String {
    let text = (try? String(contentsOfFile: "/proc/loadavg", encoding: .utf8)) ?? "?"
    return text.split(separator: " ").first.map(String.init) ?? "?"
}
