// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanTestSupport
import FoundationEssentials
import Testing

@testable import DivanReplication

/// What goes wrong with the content of one document, and with no other one.
@Suite(.timeLimit(.minutes(10))) struct ContentFailureTests {
    /// A server that answers a request for any document by the same bytes, and has no `_bulk_get`.
    private struct PartsServer: WireConnection {
        let name = "http://parts/db"
        let parts: [UInt8]

        func respond(to request: WireRequest) async throws -> WireResponse {
            guard request.path != "_bulk_get" else {
                return WireResponse(status: 405, headers: [:], body: BytesPieces([]))
            }
            return WireResponse(
                status: 200, headers: ["Content-Type": "multipart/related; boundary=b"],
                body: BytesPieces(parts))
        }
    }

    private static func wanted(_ id: DocumentID) -> MissingRevisions {
        MissingRevisions(id: id, revisions: [RevisionID("1-a")])
    }

    private func failure(_ fetched: [FetchedRevision]) throws -> ReplicationError {
        guard case .failed(let error)? = fetched.first?.outcome else {
            throw ReplicationError(.server, "It did not fail.")
        }
        return error
    }

    @Test func `a disk that takes no content fails the document that has it, for now`()
        async throws
    {
        let folder = try ScratchDirectory()
        var options = DatabaseOptions()
        options.create = true
        let here = try Database.open(
            at: URL(filePath: folder.path).appending(path: "here"), options: options)
        defer { here.close() }
        // Nothing can be made in what is no folder.
        for generation in try FileManager.default.contentsOfDirectory(atPath: here.path) {
            let attachments = "\(here.path)/\(generation)/attachments"
            try? FileManager.default.removeItem(atPath: attachments)
            try? Data().write(to: URL(filePath: attachments))
        }
        let document =
            #"{"_id":"a","_rev":"1-a","_attachments":{"x":{"follows":true,"length":2}}}"#
        let server = PartsServer(
            parts: Array("--b\r\n\r\n\(document)\r\n--b\r\n\r\nxx\r\n--b--".utf8))
        let fetched = try await HTTPPeer(server, for: here).revisions([Self.wanted("a")])
        let error = try failure(fetched)
        #expect(error.code == .database && error.isTransient && error.documentID == "a")
        #expect(error.message.contains("'a'"))
    }

    @Test func `a packed document is not unpacked before its turn`() async throws {
        let here = try Database.inMemory(named: "here")
        // Three megabytes, and then what is no gzip: who unpacks it at once fails at once.
        let coded = try #require(
            GzipCoding.encode([UInt8](repeating: UInt8(ascii: " "), count: 3 << 20)))
        let head = "--b\r\nContent-Encoding: gzip\r\n\r\n"
        let server = PartsServer(
            parts: Array(head.utf8) + coded + [1, 2, 3] + Array("\r\n--b--".utf8))
        let peer = HTTPPeer(server, for: here)
        var turn: LongAnswers.Turn? = await peer.longAnswers.take()
        async let fetched = peer.revisions([Self.wanted("a")])
        await eventually { peer.longAnswers.waitingCount == 1 }
        withExtendedLifetime(turn) {}
        turn = nil
        let error = try failure(try await fetched)
        #expect(error.code == .invalidAnswer && error.message.contains("decoded"))
    }

    @Test(arguments: [#"{"_id":"a","_rev":"1-a","n":"#, #"{"_id":"a","_rev":"1-a","text":"hal"#])
    func `a document that breaks off where its answer ends comes when it is whole`(text: String)
        async throws
    {
        let here = try Database.inMemory(named: "here")
        let server = RawStandIn()
        var item = RawStandIn.Item("a", "1-a", #"{"_id":"a","_rev":"1-a","n":1}"#)
        item.entry = ""
        item.alone = { _ in (200, text) }
        server.add(item)
        server.add(RawStandIn.Item("b", "1-b", #"{"_id":"b","_rev":"1-b"}"#))
        let error = await #expect(throws: ReplicationError.self) {
            try await server.pull(into: here)
        }
        #expect(error?.documentID == "a" && error?.isTransient == true)
        #expect(try here.contains("b"))
        server.change("a") { $0.alone = nil }
        try await server.pull(into: here)
        #expect(try here.document(withID: "a")?["n"].int == 1)
    }
}
