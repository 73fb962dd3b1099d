// SPDX-License-Identifier: Apache-2.0

import BenchmarkInput
import Foundation

// DivanRunner WORK INPUT DIRECTORY OPERATIONS
//
// Does one piece of work in one process and prints one line of JSON, exactly as Floor/main.c does.
let arguments = CommandLine.arguments
guard arguments.count == 5, let operations = Int(arguments[4]) else {
    FileHandle.standardError.write(
        Data("usage: DivanRunner WORK INPUT DIRECTORY OPERATIONS\n".utf8))
    exit(2)
}
do {
    let work = DivanWork(
        input: try InputFile(path: arguments[2]),
        directory: URL(fileURLWithPath: arguments[3] + "/bench.divan"),
        operations: operations)
    let timing = try work.run(arguments[1])
    print(
        """
        {"operations":\(operations),"cpu":\(timing.cpu),"wall":\(timing.wall),\
        "result":\(timing.result)}
        """)
} catch {
    FileHandle.standardError.write(Data("DivanRunner: \(arguments[1]): \(error)\n".utf8))
    exit(1)
}
