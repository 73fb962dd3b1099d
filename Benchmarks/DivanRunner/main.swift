// SPDX-License-Identifier: Apache-2.0

import BenchmarkInput
import Divan
import DivanLMDB
import Foundation

// DivanRunner [foundation|cp|lmdb|encrypted] WORK INPUT DIRECTORY OPERATIONS
//
// Does one piece of work in one process and prints one line of JSON, exactly as Floor/main.c does.
var arguments = CommandLine.arguments
// The same work on one core: the program begins anew under another one that sees to that.
if let work = arguments.indices.first(where: { arguments[$0].hasSuffix("_one_core") }) {
    arguments[work].removeLast("_one_core".count)
    var words = (["taskset", "-c", "0"] + arguments).map { strdup($0) }
    words.append(nil)
    execvp("taskset", words)
    exit(1)
}
let isFoundation = arguments.count > 1 && arguments[1] == "foundation"
let isCopy = arguments.count > 1 && arguments[1] == "cp"
let isOnLMDB = arguments.count > 1 && arguments[1] == "lmdb"
let isEncrypted = arguments.count > 1 && arguments[1] == "encrypted"
if isFoundation || isCopy || isOnLMDB || isEncrypted { arguments.remove(at: 1) }
guard arguments.count == 5, let operations = Int(arguments[4]) else {
    FileHandle.standardError.write(
        Data(
            "usage: DivanRunner [foundation|cp|lmdb|encrypted] WORK INPUT DIRECTORY OPERATIONS\n"
                .utf8))
    exit(2)
}
do {
    let input = try InputFile(path: arguments[2])
    let work = DivanWork(
        input: input, inputPath: arguments[2],
        directory: URL(fileURLWithPath: arguments[3] + "/bench.divan"),
        operations: operations, storageEngine: isOnLMDB ? .lmdb : .sqlite,
        key: isEncrypted ? try EncryptionKey(rawBytes: [UInt8](repeating: 7, count: 32)) : nil)
    let json = JSONWork(input: input, operations: operations, isFoundation: isFoundation)
    let copy = CopyWork(directory: URL(filePath: arguments[3]))
    let timing =
        isCopy ? try copy.run(arguments[1]) : try json.run(arguments[1]) ?? work.run(arguments[1])
    print(timing.line(operations: operations))
} catch {
    FileHandle.standardError.write(Data("DivanRunner: \(arguments[1]): \(error)\n".utf8))
    exit(1)
}
