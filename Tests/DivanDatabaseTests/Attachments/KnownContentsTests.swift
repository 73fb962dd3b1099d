// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanModel
import DivanTestSupport
import Testing

@testable import DivanDatabase

/// Which contents a document's stored revisions refer to.
@Suite struct KnownContentsTests {
    private let sandbox = Sandbox()
    private let database: Database

    init() throws { database = try sandbox.database() }

    /// A document with leaves of one generation, each with a content of its own or, where `own` is false, without.
    private func add(_ id: DocumentID, leaves: Int, own: Bool) throws {
        try database.inBatch {
            for leaf in 0..<leaves {
                let attachments: NameMap<AttachmentContent> =
                    own ? ["t": .bytes(content(id, leaf))] : [:]
                let stubs: JSONObject = own ? ["_attachments": ["t": ["follows": true]]] : [:]
                try database.putExistingRevision(
                    id, stubs, history: [RevisionID(validating: "1-\(leaf)")],
                    attachments: attachments)
            }
        }
    }

    private func content(_ id: DocumentID, _ leaf: Int) -> [UInt8] {
        Array("\(id.text) \(leaf)".utf8)
    }

    private func key(_ id: DocumentID, _ leaf: Int) throws -> AttachmentKey {
        try #require(AttachmentKey(ofStub: Blob(contentType: nil, content(id, leaf)).digest))
    }

    @Test func `contents of any stored revision are known, and those of other documents are not`()
        throws
    {
        // Their revisions stand in turn, so rows of both have to be passed over.
        for leaf in 0..<6 {
            for id in ["a", "b"] as [DocumentID] {
                try database.putExistingRevision(
                    id, ["_attachments": ["t": ["follows": true], "own": ["follows": true]]],
                    history: [RevisionID(validating: "1-\(leaf)")],
                    attachments: [
                        "t": .bytes(content(leaf < 4 ? "b" : "both", 0)),
                        "own": .bytes(content(id, leaf)),
                    ])
            }
        }
        try database.put("c", [:], parent: nil)
        try database.core.read { snapshot in
            for id in ["a", "b", "c", "none"] as [DocumentID] {
                var known = KnownContents(id)
                for other in ["a", "b"] as [DocumentID] {
                    for leaf in 0..<6 {
                        let isKnown = try known.contains(key(other, leaf), in: snapshot)
                        let isShared = other == "b" && leaf == 0 && id == "a"
                        #expect(isKnown == (id == other || isShared), "\(id), \(other), \(leaf)")
                    }
                }
                for leaf in 0..<2 {
                    let isKnown = try known.contains(key("both", leaf), in: snapshot)
                    #expect(isKnown == (leaf == 0 && (id == "a" || id == "b")), "\(id), \(leaf)")
                }
            }
        }
    }

    @Test func `many stubs of a document with many revisions take time in proportion`() throws {
        for count in [60, 480] {
            try add(DocumentID("d\(count)"), leaves: count, own: false)
        }
        let keys = try (0..<480).map { try key("none", $0) }
        try database.core.read { snapshot in
            let factor = try Growth.ofEightTimes(60) { count in
                var known = KnownContents(DocumentID("d\(count)"))
                for key in keys.prefix(count) {
                    let isKnown = try known.contains(key, in: snapshot)
                    #expect(!isKnown)
                }
            }
            #expect(factor < Growth.most)
        }
    }
}
