// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel

// The contents of a document's blobs, for what copies documents as text: an export writes them beside the body, and an import
// gives them to the edit that stores it.

extension Document {
    /// The blobs in the body, at any depth; of those with the same content the first.
    package var storedBlobs: [Blob] {
        guard body.mayHoldBlobs else { return [] }
        var blobs: [Blob] = []
        var digests: NameSet = []
        body.jsonValue().forEachBlob { object in
            guard let blob = Blob(object, store: store), digests.insert(blob.digest).inserted else {
                return
            }
            blobs.append(blob)
        }
        return blobs
    }
}

extension RevisionContent {
    /// Adds the contents of those blobs that are in the body.
    package mutating func add(_ blobs: [Blob]) {
        guard !blobs.isEmpty else { return }
        let digests = NameSet(body.attachmentKeys.map(\.digest))
        var pending = pending ?? PendingAttachments()
        pending.add(blobs.filter { digests.contains($0.digest) })
        self.pending = pending
    }
}
