// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanListener
import DivanTestSupport
import Foundation

/// What this program is when the part `kills` starts it, to kill it.
enum Child: String {
    /// `child-client FOLDER URL SEED`: writes documents and syncs them, and says which it has written.
    case client = "child-client"
    /// `child-listener FOLDER PORT`: serves the databases of a folder, and says on which port.
    case listener = "child-listener"

    /// The database that a client writes.
    static let database = "edited"

    func run(_ arguments: [String]) async -> Never {
        do {
            switch self {
            case .client: try await beClient(arguments[0], arguments[1], UInt64(arguments[2]) ?? 0)
            case .listener: try await beListener(arguments[0], UInt16(arguments[1]) ?? 0)
            }
        } catch {
            Report.write("\(rawValue): \(error)", to: 2)
        }
        exit(1)
    }

    private func beClient(_ folder: String, _ url: String, _ seed: UInt64) async throws {
        let database = try Manager(directory: URL(filePath: folder)).database(named: Self.database)
        Report.write("ready")
        database.sync(with: url) {
            $0.retry.firstDelay = .milliseconds(50)
            $0.retry.longestDelay = .milliseconds(500)
            $0.checkpointInterval = .milliseconds(200)
        }
        var random = SeededRandom(seed: seed)
        while true {
            let id: DocumentID = "k\(random.below(40))"
            if random.oneIn(10), try database.contains(id) {
                _ = try? database.delete(id)
            } else {
                let saved = try database.edit(id) { document in
                    document.set(random.below(1_000_000), forKey: "n")
                    guard random.oneIn(4) else { return }
                    document.setAttachment(
                        named: "a", contentType: "image/png",
                        .bytes(random.bytes(random.below(40_000))))
                }
                Report.write("saved \(id) \(saved.revisionID)")
            }
            // The pace of an eager user, so that replicating has its turn.
            try await Task.sleep(for: .milliseconds(random.below(8)))
        }
    }

    private func beListener(_ folder: String, _ port: UInt16) async throws {
        let site = try Site(
            name: "child", folder: folder, transport: try CurlTransport(), port: port)
        Report.write("port \(site.port)")
        while true { try await Task.sleep(for: .seconds(3_600)) }
    }
}

/// This program once more, in one of those modes.
final class ChildRun: Sendable {
    private let process: ChildProcess
    private let output: String

    init(_ mode: Child, _ arguments: [String], folder: String) throws {
        output = folder + "/output-\(UUID().uuidString)"
        try Data().write(to: URL(filePath: output))
        process = try ChildProcess(
            Self.program, [mode.rawValue] + arguments, output: .file(output))
    }

    /// The whole lines that it has said so far.
    var lines: [String] {
        let text = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(
            String.init)
    }

    var isRunning: Bool { process.isRunning }

    /// Kills it, so that it can do nothing more.
    func kill() {
        process.signal(SIGKILL)
        process.wait()
    }

    private static let program = Bundle.main.executablePath ?? CommandLine.arguments[0]
}

extension Database {
    /// Edits a document, or makes it; anew where a pull has brought another revision meanwhile.
    func edit(_ id: DocumentID, _ change: (MutableDocument) -> Void) throws -> Document {
        while true {
            let document = try document(withID: id)?.toMutable() ?? MutableDocument(id: id)
            change(document)
            do {
                return try save(document).document
            } catch let error as DatabaseError where error.code == .conflict {
                continue
            }
        }
    }
}
