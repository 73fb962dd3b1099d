// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Testing

@testable import DivanCommand

/// Numbers on the command line and in what it reads: whatever stands there, the tool ends by itself.
@Suite struct NumberOptionTests {
    private static let numbers = [
        "-1", "0", "9223372036854775807", "9223372036854775808", "18446744073709551616", "1e300",
        "-0.0", "1e-300",
    ]

    /// A command with `@` where the number goes.
    private static let commands: [[String]] = [
        ["ls", "db", "--limit", "@", "--skip", "@"],
        ["query", "db", "{}", "--limit", "@", "--skip", "@"],
        ["changes", "db", "--since", "@", "--limit", "@"],
        ["query", "db", #"{"selector":{"n":@},"limit":@,"skip":@}"#],
        ["query", "db", #"{"selector":{"n":{"$mod":[@,@]}}}"#],
        ["expire", "db", "a", "--in", "@"], ["expire", "db", "a", "--in", "@y"],
        ["expire", "db", "a", "--at", "@"], ["expire", "db", "--limit", "@"],
        ["put", "db", "b", #"{"n":@}"#], ["put", "db", "c", "{}", "--history", "@-b"],
        ["serve", "db", "--port", "@", "--encryption-key", "fd:@"],
    ]

    private static let records = [
        #"{"_id":"r","_rev":"3-c","_revisions":{"start":@,"ids":["c","b"]}}"#,
        #"{"_id":"s","_rev":"@-c"}"#, #"{"_id":@,"n":@}"#, #"{"_id":"t","_exp":@}"#,
        #"{"_id":"u","_attachments":{"f":{"data":"aGVsbG8=","revpos":@,"length":@}}}"#,
    ]

    @Test func `any number in an option or a query ends in an answer or a sentence`() throws {
        let tool = try TestTool()
        try tool.run("create", "db")
        try tool.run("put", "db", "a", #"{"n":1}"#)
        for command in Self.commands {
            for number in Self.numbers {
                let words = command.map {
                    $0.split(separator: "@", omittingEmptySubsequences: false).joined(
                        separator: number)
                }
                let child = try tool.start(words)
                let result = try child.wait()
                // A signal or a trap is none of the tool's own statuses.
                #expect(
                    (0..<20).contains(result.status), "\(words): \(result.status) \(result.err)")
                #expect(!result.err.contains("Fatal error"), "\(words): \(result.err)")
            }
        }
        #expect(try tool.run("verify", "db").status == 0)
    }

    @Test func `any number in a record is imported or refused`() throws {
        let tool = try TestTool()
        try tool.run("create", "db")
        let lines = Self.records.flatMap { record in
            Self.numbers.map {
                record.split(separator: "@", omittingEmptySubsequences: false).joined(separator: $0)
            }
        }
        let result = try tool.run("import", "db", "-", input: lines.joined(separator: "\n"))
        #expect((0..<20).contains(result.status), "\(result.status) \(result.err)")
        #expect(try tool.run("verify", "db").status == 0)
    }
}
