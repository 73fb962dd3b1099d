// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel

// What the checkpoint of a replication is called.
extension Ends {
    /// The names that earlier versions gave to the checkpoint: another one for one-shot replications, and none of a user's
    /// own.
    static func earlierIDs(_ replication: Replication) -> [ReplicationID] {
        let hasUser = replication.settings.remoteUserName(replication.remote) != nil
        return (hasUser ? [true, false] : [false]).map {
            id(replication, isContinuous: $0, isOfUser: false)
        }
    }

    /// The name of the checkpoint: that of a continuous replication, for both kinds.
    static func id(
        _ replication: Replication, isContinuous: Bool = true, isOfUser: Bool = true
    ) -> ReplicationID {
        let settings = replication.settings
        var made = ReplicationID.Settings(
            localUUID: replication.database.privateUUID, remoteURL: replication.remote.identity,
            isPush: replication.direction == .push)
        made.remoteUUID = settings.remoteUUID ?? settings.customProperties["remoteUUID"]?.string
        made.isContinuous = isContinuous
        made.filter = settings.filter
        made.filterVersion = settings.filterVersion
        if !settings.filterParameters.isEmpty { made.filterParameters = settings.filterParameters }
        if !settings.channels.isEmpty {
            made.filter = "sync_gateway/bychannel"
            made.filterParameters = [
                "channels": .string(settings.channels.joined(separator: ","))
            ]
        }
        if let selector = settings.selector {
            made.filter = "_selector"
            made.filterParameters = ["selector": .object(selector)]
        }
        if !settings.documentIDs.isEmpty { made.documentIDs = settings.documentIDs }
        made.startingSequence = settings.startingSequence
        made.winningRevisionsOnly = settings.winningRevisionsOnly
        made.localUser = settings.localAccess?.user
        made.remoteUser = settings.remoteAccess?.user
        if isOfUser, let name = settings.remoteUserName(replication.remote) {
            made.remoteUser = name
        }
        return ReplicationID(made)
    }
}
