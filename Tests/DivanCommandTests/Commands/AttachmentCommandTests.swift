// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import DivanCommand

/// `divan attach`, `detach` and `attachment`, as a child process.
@Suite struct AttachmentCommandTests {
    private let tool: TestTool

    init() throws {
        tool = try TestTool()
        try tool.run("create", "db")
        try tool.run("put", "db", "a", #"{"n":1}"#)
        try tool.write("hello", to: "note.txt")
    }

    @Test func `attach stores a file under its name, and get writes it`() throws {
        let attach = try tool.run("attach", "db", "a", "note.txt", "--type", "text/plain")
        #expect(attach.status == 0)
        #expect(attach.out.hasPrefix(#"{"id":"a","rev":"2-"#))
        #expect(attach.err.isEmpty)
        let get = try tool.run("attachment", "get", "db", "a", "note.txt")
        #expect(get.status == 0)
        #expect(get.out == "hello")
        let file = try tool.run("attachment", "get", "db", "a", "note.txt", "-o", "copy.txt")
        #expect(file.status == 0)
        #expect(file.out.isEmpty)
        #expect(try tool.read("copy.txt") == "hello")
        #expect(try tool.run("get", "db", "a", "--pointer", "/n").out == "1\n")
    }

    @Test func `attach takes another name, and replaces what has it`() throws {
        try tool.run("attach", "db", "a", "note.txt", "--name", "a/b")
        try tool.write("other", to: "other.txt")
        try tool.run("attach", "db", "a", "other.txt", "-n", "a/b")
        #expect(try tool.run("attachment", "get", "db", "a", "a/b").out == "other")
        #expect(try tool.run("attachment", "ls", "db", "a").lines.count == 1)
    }

    @Test func `ls lists names, types and lengths`() throws {
        try tool.run("attach", "db", "a", "note.txt", "--type", "text/plain")
        try tool.run("attach", "db", "a", "note.txt", "--name", "b")
        let list = try tool.run("attachment", "ls", "db", "a")
        #expect(list.lines == ["b\t-\t5 B", "note.txt\ttext/plain\t5 B"])
        let json = try tool.run("attachment", "ls", "db", "a", "--json")
        #expect(
            json.lines.last == #"{"name":"note.txt","content_type":"text/plain","length":5,"#
                + #""digest":"sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00=","available":true}"#)
    }

    @Test func `detach removes attachments, all that are named or none`() throws {
        try tool.run("attach", "db", "a", "note.txt")
        let wrong = try tool.run("detach", "db", "a", "note.txt", "missing")
        #expect(wrong.status == 3)
        #expect(wrong.err == "divan: Document \"a\" has no attachment \"missing\".\n")
        let first = try tool.run("attachment", "ls", "db", "a", "--json")
        #expect(first.lines.count == 1)
        #expect(try tool.run("detach", "db", "a", "note.txt").status == 0)
        #expect(try tool.run("attachment", "ls", "db", "a").out.isEmpty)
        #expect(try tool.run("verify", "db").status == 0)
    }

    @Test func `an earlier revision still has what was detached`() throws {
        let attach = try tool.run("attach", "db", "a", "note.txt")
        let revision = try #require(attach.out.split(separator: "\"").dropLast().last)
        try tool.run("detach", "db", "a", "note.txt")
        let get = try tool.run(
            "attachment", "get", "db", "a", "note.txt", "--rev", String(revision))
        #expect(get.out == "hello")
    }

    @Test func `what is not there is not found, and a wrong action is a usage error`() throws {
        #expect(try tool.run("attach", "db", "none", "note.txt").status == 3)
        #expect(try tool.run("attach", "db", "a", "missing.txt").status == 3)
        #expect(try tool.run("attachment", "get", "db", "a", "x").status == 3)
        #expect(try tool.run("attachment", "put", "db", "a").status == 2)
        #expect(try tool.run("attachment", "get", "db", "a").status == 2)
        #expect(try tool.run("attachment", "ls", "db", "a", "x").status == 2)
        let existing = try tool.run("attachment", "get", "db", "a", "x", "-o", "note.txt")
        #expect(existing.status == 3)
        #expect(try tool.read("note.txt") == "hello")
    }

    @Test func `compact tells how many attachments went, and inspect shows references`() throws {
        try tool.run("attach", "db", "a", "note.txt")
        let rows = try tool.run("inspect", "db", "attachmentReferences")
        #expect(rows.out.contains("aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d 2"))
        try tool.run("detach", "db", "a", "note.txt")
        let verified = try tool.run("verify", "db")
        #expect(verified.status == 0)
        let json = try tool.run("compact", "db", "--json")
        #expect(json.out.contains(#""attachments_removed":1"#))
        #expect(try tool.run("compact", "db").out.hasPrefix("Deleted 0 old bodies"))
    }

    @Test
    func `a name that other databases refuse is refused, and told where it came from elsewhere`()
        throws
    {
        try tool.run("create", "u.divan")
        try tool.run("put", "u.divan", "a", input: "{}")
        try tool.write("hello", to: "file")
        let refused = try tool.run("attach", "u.divan", "a", "file", "--name", "_x")
        #expect(refused.status == ExitCode.badInput.rawValue)
        #expect(refused.err.contains("underscore"))
        let inline = #"{"_attachments":{"_x":{"data":"aGVsbG8="}}}"#
        #expect(try tool.run("put", "u.divan", "b", input: inline).status != 0)
        #expect(
            try tool.run("put", "u.divan", "b", "--history", "1-a", input: inline).status == 0)
        #expect(try tool.run("attachment", "get", "u.divan", "b", "_x").out == "hello")
        let verified = try tool.run("verify", "u.divan")
        #expect(verified.status == 0)
        #expect(verified.out == "")
        #expect(verified.err.contains("'_x' of document 'b'"))
    }
}
