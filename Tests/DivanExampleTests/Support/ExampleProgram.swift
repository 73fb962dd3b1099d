// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Synchronization

/// An example that was built, which a test runs in a folder.
struct ExampleProgram: Sendable {
    /// Its name.
    let name: String
    /// Its current folder.
    let folder: ScratchDirectory

    init(_ name: String) throws {
        self.name = name
        folder = try ScratchDirectory()
    }

    /// The program lies beside the test bundle.
    var path: String {
        let beside = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent(name)
        if FileManager.default.isExecutableFile(atPath: beside.path) { return beside.path }
        // Another runner may have started the bundle: look where the package is built.
        return TestFolder.repository.appending(path: ".build/debug/\(name)").path
    }

    func file(_ name: String) -> URL { URL(filePath: folder.path).appending(path: name) }

    func write(_ bytes: some Sequence<UInt8>, to name: String) throws {
        try Data(bytes).write(to: file(name))
    }

    /// Runs it with some input to its end, and returns its status and what it wrote on both outputs.
    func run(_ arguments: [String], input: String = "") throws -> (status: Int32, text: String) {
        let run = "run-\(UInt64.random(in: 0 ... .max))"
        try write(input.utf8, to: run + ".in")
        try write([], to: run + ".out")
        // Opened once, so that both outputs go to one place of the file.
        let output = try FileHandle(forWritingTo: file(run + ".out"))
        let stream = ChildProcess.Stream.descriptor(output.fileDescriptor)
        let process = try ChildProcess(
            path, arguments, in: folder.path, input: .file(file(run + ".in").path),
            output: stream, error: stream)
        let status = process.wait()
        return (status, try String(contentsOf: file(run + ".out"), encoding: .utf8))
    }

    /// Starts it in a terminal.
    func start(_ arguments: [String]) throws -> TerminalSession {
        try TerminalSession(path, arguments, in: folder.path)
    }
}
