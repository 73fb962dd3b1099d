// SPDX-License-Identifier: Apache-2.0

import Foundation

let arguments = Array(CommandLine.arguments.dropFirst())
guard !arguments.contains("--help") else {
    print(Options.usage)
    exit(0)
}
do {
    let options = try Options(arguments)
    let programs = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().path
    let facts = RunFacts(
        commit: options.commit, machine: machineLine(), runs: options.runs)
    print("machine: \(facts.machine)")
    var rows: [Row] = []
    for count in options.counts {
        print("\(count) documents of about 427 bytes, medians of \(options.runs) runs\n")
        print(Row.heading)
        let bench = try Bench(options: options, count: count, programs: programs)
        rows += try bench.run()
    }
    try append(rows, of: facts, to: options.results)
    if let path = options.plot, let plot = Plot(rows) {
        try plot.svg.write(toFile: path, atomically: true, encoding: .utf8)
    }
} catch {
    FileHandle.standardError.write(Data("bench: \(error)\n".utf8))
    exit(1)
}

/// Appends one JSON line for each row, so that earlier results stay.
func append(_ rows: [Row], of run: RunFacts, to path: String) throws {
    var text = Data((try? String(contentsOfFile: path, encoding: .utf8))?.utf8 ?? "".utf8)
    for row in rows {
        text += Data(try row.resultLine(of: run).utf8)
        text.append(UInt8(ascii: "\n"))
    }
    try text.write(to: URL(fileURLWithPath: path))
}
