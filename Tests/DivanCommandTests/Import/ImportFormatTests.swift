// SPDX-License-Identifier: Apache-2.0

import DivanSystem
import Testing

@testable import DivanCommand

@Suite struct ImportFormatTests {
    private func detect(
        _ text: String, _ format: ImportFormat = .auto, key: [String] = []
    ) throws -> ImportLayout {
        try ImportLayout.choose(
            format, keyPath: key, head: [UInt8](text.utf8).span)
    }

    @Test(arguments: ["", "{\"a\":1}\n{\"b\":2}\n", "{\"a\":1}", "{\"a\":1} ", "garbage\n{}"])
    func `one object a line is JSON lines`(_ text: String) throws {
        #expect(try detect(text) == ImportLayout(cut: .lines))
    }

    @Test(arguments: ["[]", " \n [ {\"rows\":[]} ]"])
    func `a bracket begins an array`(_ text: String) throws {
        #expect(try detect(text) == ImportLayout(cut: .elements(path: [])))
    }

    @Test func `objects over several lines are values`() throws {
        #expect(try detect("{\n  \"a\": 1\n}\n{\n  \"a\": 2\n}") == ImportLayout(cut: .values))
    }

    @Test(arguments: [
        "{\"total_rows\":2,\"offset\":0,\"rows\":[\n{\"id\":\"a\"",
        "{\"rows\":[]}",
        "{\"offset\":0,\"update_seq\":\"1-x\",\"total_rows\":2,\"rows\":[",
    ])
    func `what _all_docs answers is known by its rows`(_ text: String) throws {
        #expect(
            try detect(text) == ImportLayout(cut: .elements(path: [["rows"]]), mayBeRows: true))
    }

    @Test func `what _bulk_docs takes and _changes answers is known too`() throws {
        #expect(
            try detect("{\"new_edits\":false,\"docs\":[{")
                == ImportLayout(cut: .elements(path: [["docs"]])))
        #expect(
            try detect("{\"results\":[\n{\"seq\":1")
                == ImportLayout(cut: .elements(path: [["results"]]), mayBeRows: true))
    }

    @Test(arguments: [
        "{\"rows\":[1]}\n{\"rows\":[2]}", "{\"name\":\"x\",\"rows\":[1]}", "{\"rows\":5}",
    ])
    func `documents that resemble a dump are not taken for one`(_ text: String) throws {
        #expect(try detect(text) == ImportLayout(cut: .lines))
    }

    @Test func `an object around an array must be named`() {
        #expect {
            try detect("{\n  \"3166-1\": [\n    {")
        } throws: { error in
            let failure = error as? CommandFailure
            return failure?.status == .usage && failure?.message.contains("--key 3166-1") == true
        }
    }

    @Test func `a key path goes with arrays only`() throws {
        #expect(try detect("{", key: ["a", "b"]).cut == .elements(path: [["a"], ["b"]]))
        #expect(throws: CommandFailure.self) { try detect("{", .lines, key: ["a"]) }
    }

    @Test func `the user's word outranks the input's looks`() throws {
        #expect(try detect("[1]", .lines).cut == .lines)
        #expect(try detect("{}", .values).cut == .values)
        #expect(try detect("{}", .array).cut == .elements(path: []))
        #expect(try detect("{}", .couchdb).mayBeRows)
    }

    @Test func `text that is not UTF-8 is refused`() {
        let utf16: [UInt8] = [0xFF, 0xFE, 0x7B, 0x00]
        #expect(throws: CommandFailure.self) {
            try ImportLayout.choose(.auto, keyPath: [], head: utf16.span)
        }
    }
}

@Suite struct InputSourceTests {
    private func read(_ bytes: [UInt8]) throws -> (head: [UInt8], all: [UInt8]) {
        let (descriptor, path) = try Descriptors.openTemporaryFile(
            prefix: "/tmp/divan-", suffix: "")
        defer { Files.removeFile(path) }
        try Descriptors.writeAll(bytes.span, to: descriptor)
        Descriptors.close(descriptor)
        let source = try InputSource(path: path, interruption: Interruption())
        #expect(source.size == bytes.count)
        let head = try source.readHead()
        var all: [UInt8] = []
        while try source.nextChunk({ chunk in for i in chunk.indices { all.append(chunk[i]) } }) {}
        #expect(source.position == bytes.count)
        return (head, all)
    }

    @Test(arguments: [0, 1, 1000, 1 << 18, (1 << 18) + 1, 1_000_000])
    func `what is read ahead comes again`(_ count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let result = try read(bytes)
        #expect(result.all == bytes)
        #expect(bytes.starts(with: result.head))
    }

    @Test func `a byte order mark is passed over`() throws {
        #expect(try read([0xEF, 0xBB, 0xBF, 0x7B, 0x7D]).all == [0x7B, 0x7D])
    }

    @Test func `a missing file is not found`() {
        #expect {
            try InputSource(path: "/nowhere/x.json", interruption: Interruption())
        } throws: { error in
            (error as? CommandFailure)?.status == .notFound
        }
    }

    @Test func `reading stops when the user interrupts`() throws {
        let interruption = Interruption()
        let source = try InputSource(path: "/dev/null", interruption: interruption)
        interruption.request()
        #expect(throws: Interruption.failure) { try source.readAll() }
    }
}
