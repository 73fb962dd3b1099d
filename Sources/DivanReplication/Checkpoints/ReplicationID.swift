// SPDX-License-Identifier: Apache-2.0

package import DivanJSON
package import DivanModel
internal import DivanDatabase

/// Names a replication's checkpoint: the same settings between the same two databases, the same ID.
///
/// It is what Couchbase Lite 1.4 computes, so that an app moving over finds its checkpoint: the SHA-1,
/// in hexadecimal, of compact JSON with sorted keys:
///
///     {"continuous":false,"docids":["a","b"],"filter":"byOwner","filterParams":{"name":"Waldo"},
///      "localUUID":"…","push":true,"remoteURL":"http://host/db"}
///
/// `docids` (sorted), `filter` and `filterParams` stand there only when they are set, and `remoteUUID`
/// in place of `remoteURL` when there is one. Channels are the filter `sync_gateway/bychannel` with the
/// parameter `channels`, a selector the filter `_selector` with the parameter `selector`. Credentials
/// are taken out of the URL. Divan writes the checkpoint of a continuous replication for both kinds, and also reads that of
/// a one-shot one, and without `remoteUser` those that earlier versions had for all users of a server. `sinceSeq`, `winningRevsOnly`, `localUser` and `remoteUser` are Divan's, and there only when they are set.
package struct ReplicationID: Sendable, Hashable {
    /// 40 hexadecimal digits.
    package let text: String

    /// What the ID is made of.
    package struct Settings: Sendable {
        /// The private UUID of the local database.
        package var localUUID: String
        /// The URL as it was given, without credentials.
        package var remoteURL: String
        /// What identifies the other end whatever its address.
        package var remoteUUID: String?
        /// Whether documents go to the other end.
        package var isPush: Bool
        /// Whether it goes on for ever.
        package var isContinuous = false
        /// The filter's name.
        package var filter: String?
        /// Which of several functions of this name the filter is.
        package var filterVersion: String?
        /// The filter's parameters.
        package var filterParameters: JSONObject?
        /// The only documents that take part.
        package var documentIDs: [DocumentID]?
        /// Where it begins the first time.
        package var startingSequence: String?
        /// Whether only winning revisions go.
        package var winningRevisionsOnly = false
        /// In whose name the local database is used, where that is not the app's own.
        package var localUser: String?
        /// In whose name the other end is used: a server, or a database of this process.
        package var remoteUser: String?

        /// Makes settings without filters.
        package init(localUUID: String, remoteURL: String, isPush: Bool) {
            self.localUUID = localUUID
            self.remoteURL = remoteURL
            self.isPush = isPush
        }
    }

    /// Computes the ID of a replication.
    package init(_ settings: Settings) {
        var object: JSONObject = [
            "localUUID": .string(settings.localUUID), "push": .bool(settings.isPush),
            "continuous": .bool(settings.isContinuous),
        ]
        if let uuid = settings.remoteUUID {
            object["remoteUUID"] = .string(uuid)
        } else {
            object["remoteURL"] = .string(settings.remoteURL)
        }
        object["filter"] = settings.filter.map { .string($0) }
        object["filterVersion"] = settings.filterVersion.map { .string($0) }
        object["filterParams"] = settings.filterParameters.map { .object($0) }
        object["docids"] = settings.documentIDs.map { ids in
            .array(ids.sorted().map { .string($0.text) })
        }
        object["sinceSeq"] = settings.startingSequence.map { .string($0) }
        if settings.winningRevisionsOnly { object["winningRevsOnly"] = true }
        object["localUser"] = settings.localUser.map { .string($0) }
        object["remoteUser"] = settings.remoteUser.map { .string($0) }
        // The packed form sorts keys.
        text = ContentNames.sha1(Array(PackedValue(.object(object)).jsonText.utf8))
    }

    /// The ID of the local document that holds the checkpoint.
    package var localDocumentID: DocumentID { DocumentID(text) }
}
