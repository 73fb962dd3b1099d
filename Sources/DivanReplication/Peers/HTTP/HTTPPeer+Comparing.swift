// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel

// Asking what the server lacks.
extension HTTPPeer {
    /// Asks which revisions the server lacks.
    ///
    /// A document over which it cannot answer is taken to be missing as a whole: storing it then shows whether the
    /// server takes it, and names it if not. The others are compared without it.
    ///
    /// - Throws: `ReplicationError`.
    package func missingRevisions(of offers: [PeerChange]) async throws -> [MissingRevisions] {
        let comparison = Halving<PeerChange, MissingRevisions?>(
            ask: { try await self.compare($0) },
            blame: { offer, _ in MissingRevisions(id: offer.id, revisions: offer.revisions) })
        return try await comparison.send(offers).compactMap { $0 }
    }

    private func compare(_ offers: [PeerChange]) async throws
        -> Halving<PeerChange, MissingRevisions?>.Answer
    {
        let response = try await connection.respond(
            to: WireRequest(.post, "_revs_diff", body: .json(Self.text(of: offers))))
        if [400, 413, 414, 422, 431, 500, 502].contains(response.status) {
            return .spoiled(
                ReplicationError(
                    response, try await response.beginning(), "_revs_diff", at: name))
        }
        let answer: PackedValue
        do { answer = try await object(response, "_revs_diff") } catch let error as ReplicationError
            where error.code == .invalidAnswer
        {
            return .spoiled(error)
        }
        return .outcomes(offers.map { Self.missing(of: $0, answer) })
    }

    private static func text(of offers: [PeerChange]) -> [UInt8] {
        var text = Array("{".utf8)
        for (index, offer) in offers.enumerated() {
            if index > 0 { text.append(ascii: ",") }
            text.append(jsonString: offer.id.text)
            text.append(ascii: ":[")
            for (index, revision) in offer.revisions.enumerated() {
                if index > 0 { text.append(ascii: ",") }
                text.append(jsonString: revision.description)
            }
            text.append(ascii: "]")
        }
        text.append(ascii: "}")
        return text
    }

    /// What a server says that it lacks of a document; nil when that is nothing.
    private static func missing(of offer: PeerChange, _ answer: PackedValue) -> MissingRevisions? {
        guard let entry = answer[offer.id.text] else { return nil }
        var missing = MissingRevisions(id: offer.id, revisions: offer.revisions)
        missing.possibleAncestors = entry["possible_ancestors"]?.revisionIDs ?? []
        guard let named = entry["missing"], named.kind == .array else {
            // It speaks of the document, but not so that it is understood: it may lack all of it.
            return missing
        }
        guard named.count > 0 else { return nil }
        let found = Self.named(named.revisionIDs, of: offer)
        if found.count == named.count { missing.revisions = found }
        return missing
    }

    /// The offered revisions that an answer names: the server knows nothing else of the document.
    ///
    /// CouchDB keeps a digest of 32 hexadecimal digits as a number, so it names it in lower case, however it
    /// was offered.
    private static func named(_ revisions: [RevisionID], of offer: PeerChange) -> [RevisionID] {
        let named = Set(revisions)
        let found = offer.revisions.filter(named.contains)
        guard found.count < named.count else { return found }
        let lowered = NameSet(revisions.map { $0.description.lowercased() })
        return offer.revisions.filter { lowered.contains($0.description.lowercased()) }
    }
}

extension PackedValue {
    /// The revision IDs of an array of texts; what is none is left out.
    fileprivate var revisionIDs: [RevisionID] {
        var ids: [RevisionID] = []
        forEachElement { element in
            if let text = element.string, let id = try? RevisionID(validating: text) {
                ids.append(id)
            }
        }
        return ids
    }
}
