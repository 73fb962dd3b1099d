// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanTestSupport
import Foundation
import Testing

/// A `divan serve` with a budget of memory, an administrator, a user, and a database of which the user is a member.
final class ServedDatabase {
    /// In megabytes.
    static let budget = 64
    /// Megabytes that the process may take beside its budget and what it takes when nothing was asked yet.
    static let base = 100

    let tool: TestTool
    let child: TestTool.Child
    let client: WireClient
    /// The header fields of the administrator and of the user.
    let (root, ann) = (ServedDatabase.credentials("root"), ServedDatabase.credentials("ann"))

    private static func credentials(_ name: String) -> String {
        "Authorization: Basic " + Base64.encode(Array("\(name):\(name)".utf8))
    }

    /// Starts it.
    ///
    /// - Parameter descriptors: How many descriptors it may have; nil for as many as the test.
    init(descriptors: Int? = nil) throws {
        tool = try TestTool()
        try FileManager.default.createDirectory(
            atPath: tool.path("spool"), withIntermediateDirectories: true)
        child = try tool.start(
            [
                "serve", "data", "--port", "0", "--user", "root:root", "--memory",
                "\(Self.budget)",
            ], environment: ["TMPDIR": tool.path("spool")],
            under: descriptors.map { ["/usr/bin/prlimit", "--nofile=\($0)"] } ?? [])
        client = WireClient(port: try #require(child.address()).port)
        #expect(client.send("PUT", "/db", [root]) == 201)
        #expect(client.send("PUT", "/_users", [root]) == 201)
        let account = #"{"name":"ann","password":"ann","roles":[],"type":"user"}"#
        #expect(
            client.send("PUT", "/_users/org.couchdb.user:ann", [root], Array(account.utf8)) == 201)
        let security = #"{"members":{"names":["ann"]}}"#
        #expect(client.send("PUT", "/db/_security", [root], Array(security.utf8)) == 200)
        #expect(client.send("PUT", "/db/good", [ann], Array("{}".utf8)) == 201)
    }

    deinit {
        child.interrupt()
        _ = try? child.wait()
    }

    /// Whether another client gets its document.
    var isAlive: Bool { client.send("GET", "/db/good", [ann]) == 200 }

    private var process: String { "/proc/\(child.process.identifier)" }

    /// A field of the process's status.
    func status(_ field: String) throws -> Int {
        let text = try String(contentsOfFile: process + "/status", encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(field + ":") })
        return try #require(
            line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) })
    }

    /// A field of the process's status, in megabytes.
    func megabytes(_ field: String) throws -> Int { try status(field) / 1_024 }

    /// How many files and sockets the process has open.
    var descriptors: Int {
        (try? FileManager.default.contentsOfDirectory(atPath: process + "/fd").count) ?? 0
    }

    /// The bytes of the files without a name that the process has open.
    var spooledBytes: Int {
        let folder = process + "/fd"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.reduce(0) { total, name in
            let path = "\(folder)/\(name)"
            guard let link = try? FileManager.default.destinationOfSymbolicLink(atPath: path),
                link.hasSuffix("(deleted)")
            else { return total }
            var status = stat()
            return total + (stat(path, &status) == 0 ? Int(status.st_size) : 0)
        }
    }
}
