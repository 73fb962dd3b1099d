// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON

extension Call {
    /// `GET /{db}/_auto_purge`
    func autoPurge() throws -> ListenerResponse {
        let stored = try AutoPurge.stored(in: database)
        var answer: JSONObject = [:]
        answer[AutoPurge.periodName] = stored[AutoPurge.periodName]
        return .json(.object(answer))
    }

    /// `PUT /{db}/_auto_purge`
    func setAutoPurge() throws -> ListenerResponse {
        guard user.isAdmin || !hidesDocuments else {
            throw HTTPFailure.forbidden(
                "Purging is for administrators of the listener, as the app decides who sees which document."
            )
        }
        let body = try objectBody()
        guard body.allSatisfy({ $0.key.hasSameBytes(as: AutoPurge.periodName) }) else {
            throw HTTPFailure.badRequest("invalid auto purge property")
        }
        let value = body[AutoPurge.periodName]
        guard value == nil || value?.string.flatMap(TimePeriod.init) != nil else {
            throw HTTPFailure.badRequest(
                "deleted_document_ttl must be a valid string, such as \"30_days\", or \"infinity\"")
        }
        try AutoPurge.store(value?.string, in: database)
        return .done(status: 201)
    }
}
