// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Testing

/// The harness of scripts/interop with a listener in place of another server: it finds nothing, and does not rot.
///
/// A soak runs it with its full counts.
@Suite(.serialized, .timeLimit(.minutes(120))) struct InteropTests {
    private static let program: String = {
        // A bundle on Apple platforms has the program some folders above; try each.
        var folder = URL(filePath: CommandLine.arguments[0])
        while folder.path.count > 1 {
            folder = folder.deletingLastPathComponent()
            let candidate = folder.appending(path: "DivanInterop").path
            if FileManager.default.isExecutableFile(atPath: candidate) { return candidate }
        }
        return "DivanInterop"
    }()

    /// Runs the harness; its status and what it says.
    private func run(_ arguments: [String]) throws -> (status: Int32, text: String) {
        let file = FileManager.default.temporaryDirectory
            .appending(path: "divan-interop-\(UUID().uuidString)")
        try Data().write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let status = try ChildProcess(
            Self.program, arguments, output: .file(file.path), error: .file(file.path)
        ).wait()
        return (status, try String(contentsOf: file, encoding: .utf8))
    }

    @Test(
        arguments: [
            "documents", "refused", "filters", "attachments", "requests", "continuous", "kills",
            "clients",
        ])
    func `two listeners do not differ`(in part: String) throws {
        let amount = Soak.isOn ? "--full" : "--quick"
        let (status, text) = try run([part, amount, "--seed", "\(Soak.seed)"])
        #expect(status == 0, "\(text)")
        #expect(text.contains("No unexplained difference."))
    }

    @Test func `the harness lists its parts, and knows no others`() throws {
        let list = try run(["--list"])
        #expect(list.status == 0)
        #expect(list.text.split(separator: "\n").count == 8)
        let wrong = try run(["something"])
        #expect(wrong.status == 2)
        #expect(wrong.text.contains("There is no part 'something'"))
    }
}
