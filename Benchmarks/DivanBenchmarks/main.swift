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
    let bench = try Bench(options: options, programs: programs)
    print("machine: \(machineLine())")
    print("\(options.count) documents of about 427 bytes, medians of \(options.runs) runs\n")
    print(Row.heading)
    let rows = try bench.run()
    try append(rows, to: options.results)
} catch {
    FileHandle.standardError.write(Data("bench: \(error)\n".utf8))
    exit(1)
}

/// Appends one JSON line for each row, so that earlier results stay.
func append(_ rows: [Row], to path: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    var text = Data((try? String(contentsOfFile: path, encoding: .utf8))?.utf8 ?? "".utf8)
    for row in rows {
        text += try encoder.encode(row)
        text.append(UInt8(ascii: "\n"))
    }
    try text.write(to: URL(fileURLWithPath: path))
}
