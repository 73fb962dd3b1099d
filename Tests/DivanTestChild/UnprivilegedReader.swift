// SPDX-License-Identifier: Apache-2.0

import Divan
import FoundationEssentials

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Gives up all rights, then opens a database that belongs to another user, and installs it.
///
///     write io                 opening it for writing, or what that failed with
///     read 20                  how many documents it has, read-only, or what that failed with
///     install 20               how many the installed copy has, or what that failed with
struct UnprivilegedReader {
    private let source: URL
    private let target: URL

    init(_ arguments: [String]) throws {
        source = URL(filePath: try arguments.argument(0))
        target = URL(filePath: try arguments.argument(1))
    }

    func run() throws {
        // 65534 is the unprivileged user and group nearly everywhere. It need not exist.
        guard setgroups(0, nil) == 0, setgid(65_534) == 0, setuid(65_534) == 0 else {
            return Report.say("skipped")
        }
        var options = DatabaseOptions()
        options.busyTimeout = .seconds(5)
        say("write") { try Database.open(at: source, options: options).documentCount }
        options.readOnly = true
        say("read") { try Database.open(at: source, options: options).documentCount }
        say("install") {
            let manager = try Manager(directory: target)
            try manager.replaceDatabase(named: "app", from: source)
            return try manager.database(named: "app").documentCount
        }
    }

    private func say(_ word: String, _ body: () throws -> Int) {
        do { Report.say("\(word) \(try body())") } catch let error as DatabaseError {
            Report.say("\(word) \(error.code.rawValue)")
        } catch { Report.say("\(word) \(error)") }
    }
}
