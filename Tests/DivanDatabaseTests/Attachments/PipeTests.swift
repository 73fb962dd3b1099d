// SPDX-License-Identifier: Apache-2.0

import Divan
import Foundation
import Testing

/// Reads a pipe, which can be read once and not gone back in.
private final class PipeReader: AttachmentReader {
    private let descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    func read(upTo count: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let got = Foundation.read(descriptor, &bytes, count)
        guard got >= 0 else { throw Whim() }
        return Array(bytes.prefix(got))
    }
}

@Suite struct PipeTests {
    @Test func `an attachment is set from a pipe, which cannot be read twice`() throws {
        let sandbox = Sandbox()
        let database = try sandbox.database()
        let bytes = Sample.bytes(700_001)
        let pipe = Pipe()
        // More than a pipe holds, so that writer and reader take turns.
        let writer = Thread {
            pipe.fileHandleForWriting.write(Data(bytes))
            try? pipe.fileHandleForWriting.close()
        }
        writer.start()
        let document = MutableDocument(["n": 1], id: "a")
        document.setAttachment(
            named: "x", contentType: nil,
            .stream(PipeReader(pipe.fileHandleForReading.fileDescriptor)))
        try database.save(document)
        let attachment = try #require(try database.existing("a").attachment(named: "x"))
        #expect(attachment.length == bytes.count)
        #expect(try attachment.content() == bytes)
        #expect(attachment.contentType == nil)
        #expect(try database.problems() == [])
    }
}
