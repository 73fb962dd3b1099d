// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What one process measured, and what was seen of it from outside.
struct Measurement: Sendable {
    var operations: Int
    var cpuSeconds: Double
    var wallSeconds: Double
    var peakAnonymousMegabytes: Double
    var diskMegabytes: Double
    /// By how much the files have grown.
    var grownMegabytes: Double
    var p50: Double?
    var p99: Double?

    var perCPUSecond: Double { Double(operations) / max(cpuSeconds, 1e-9) }
    var perWallSecond: Double { Double(operations) / max(wallSeconds, 1e-9) }
}

/// The line that every runner prints when it is done.
private struct RunnerLine: Decodable {
    var operations: Int
    var cpu: Double
    var wall: Double
    var p50_ms: Double?
    var p99_ms: Double?
    var memory_mb: Double?
}

/// Why a run gave no figure.
struct RunFailure: Error, CustomStringConvertible {
    var description: String
}

/// Runs one workload in a process of its own.
///
/// Memory is watched from here, so that watching costs the process nothing: `RssAnon` of
/// `/proc/PID/status`, every two milliseconds. It leaves out mapped files, the input among them.
func measure(
    _ workload: Workload, on engine: Engine, input: String, directory: String
) throws -> Measurement {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: engine.program)
    process.arguments =
        engine.firstArguments + [workload.work, input, directory, String(workload.operations)]
    process.standardOutput = output
    let bytesBefore = bytesInFolder(directory)
    try process.run()
    var peak = 0
    while process.isRunning {
        peak = max(peak, anonymousKilobytes(of: process.processIdentifier))
        usleep(2000)
    }
    process.waitUntilExit()
    let printed = output.fileHandleForReading.readDataToEndOfFile()
    guard process.terminationStatus == 0 else {
        throw RunFailure(
            description: "\(engine.name) \(workload.name): status \(process.terminationStatus)")
    }
    let line = try JSONDecoder().decode(RunnerLine.self, from: printed)
    let bytes = bytesInFolder(directory)
    return Measurement(
        operations: line.operations,
        cpuSeconds: line.cpu,
        wallSeconds: line.wall,
        peakAnonymousMegabytes: line.memory_mb ?? Double(peak) / 1000,
        diskMegabytes: Double(bytes) / 1e6,
        grownMegabytes: Double(bytes - bytesBefore) / 1e6,
        p50: line.p50_ms,
        p99: line.p99_ms
    )
}

private func anonymousKilobytes(of process: Int32) -> Int {
    guard let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8),
        let line = status.split(separator: "\n").first(where: { $0.hasPrefix("RssAnon:") })
    else { return 0 }
    return Int(line.filter(\.isNumber)) ?? 0
}

private func bytesInFolder(_ path: String) -> Int {
    var total = 0
    for case let file as URL in FileManager.default.enumerator(
        at: URL(fileURLWithPath: path), includingPropertiesForKeys: nil)
        ?? FileManager.DirectoryEnumerator()
    {
        let attributes = try? FileManager.default.attributesOfItem(atPath: file.path)
        if attributes?[.type] as? FileAttributeType == .typeRegular {
            total += (attributes?[.size] as? NSNumber)?.intValue ?? 0
        }
    }
    return total
}
