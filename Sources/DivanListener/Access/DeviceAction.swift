// SPDX-License-Identifier: Apache-2.0

package import DivanDatabase
package import DivanJSON

/// What an administrator does with the devices of a listener, by `/_divan/peers` and `/_divan/pairings`.
package enum DeviceAction: Sendable {
    /// Lists this device and those that it is paired with.
    case list
    /// Gives this device another name.
    case rename(String)
    /// Gives a peer another name here, or sets which databases it shares; what is nil stays.
    case change(peer: String, name: String?, databases: NameSet?)
    /// Ends the pairing with a peer.
    case revoke(String)
    /// Makes a link by which one device is paired, and shares a database.
    case showLink(database: String, seconds: Int)
    /// Pairs this device with the one that made a link. Documents that are here already are shared only where that is
    /// said.
    case useLink(String, sharesExisting: Bool)
    /// Tells how a pairing stands.
    case pairing(String)
    /// Says whether to pair with the device that has used a link.
    case answer(String, isYes: Bool)
    /// Ends a pairing.
    case end(String)
}

/// The listener that an action is about.
package struct DeviceSite: Sendable {
    /// Where its databases are.
    package var manager: Manager
    /// The hosts by which other devices reach it; empty while it does not listen.
    package var hosts: [String]
    /// Its port.
    package var port: UInt16
    /// The SHA-256 of its certificate.
    package var fingerprint: String?
    /// Whether it still listens.
    package var isLive: @Sendable () -> Bool
}

/// Why an action was not done.
package struct DeviceFailure: Error {
    /// The kinds of failure.
    package enum Kind: Sendable {
        /// A value is not allowed.
        case invalid
        /// There is no such peer, pairing or database.
        case missing
        /// Documents that are here already would be shared.
        case conflict
        /// The files of the device cannot be changed.
        case storage
    }

    /// What the administrator can do about it.
    package let kind: Kind
    /// One sentence: what is wrong, and how to put it right.
    package let message: String

    /// Makes a failure.
    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }
}

extension Call {
    /// `GET /_divan/peers`
    func peers() throws -> ListenerResponse { .json(.object(try administer(.list))) }

    /// `PUT /_divan/peers`
    func renameDevice() throws -> ListenerResponse {
        guard let name = try objectBody()["name"]?.string else {
            throw HTTPFailure.badRequest("`name` must be a string: what other devices show.")
        }
        return try done(.rename(name))
    }

    /// `PUT /_divan/peers/{id}`
    func changePeer() throws -> ListenerResponse {
        let body = try objectBody()
        let name = try body["name"].map { value in
            guard let text = value.string else {
                throw HTTPFailure.badRequest("`name` must be a string.")
            }
            return text
        }
        let databases = try body["databases"].map { value in
            guard let names = value.array?.map(\.string), names.allSatisfy({ $0 != nil }) else {
                throw HTTPFailure.badRequest("`databases` must be an array of names.")
            }
            return NameSet(names.compactMap(\.self))
        }
        return try done(.change(peer: resource.names[0], name: name, databases: databases))
    }

    /// `DELETE /_divan/peers/{id}`
    func revokePeer() throws -> ListenerResponse { try done(.revoke(resource.names[0])) }

    /// `POST /_divan/pairings`
    func beginPairing() throws -> ListenerResponse {
        let body = try objectBody()
        let action: DeviceAction
        switch (body["database"]?.string, body["link"]?.string) {
        case (let database?, nil):
            let seconds = try body["seconds"].map { value in
                guard let number = value.int64, (1...86_400).contains(number) else {
                    throw HTTPFailure.badRequest("`seconds` must be a number from 1 to 86400.")
                }
                return Int(clamping: number)
            }
            action = .showLink(database: database, seconds: seconds ?? 300)
        case (nil, let link?):
            action = .useLink(link, sharesExisting: body["share_existing"]?.bool ?? false)
        default:
            throw HTTPFailure.badRequest(
                "Give either `database`, to make a link, or `link`, to use one.")
        }
        return .json(.object(try administer(action)), status: 201)
    }

    /// `GET /_divan/pairings/{id}`
    func pairing() throws -> ListenerResponse {
        .json(.object(try administer(.pairing(resource.names[0]))))
    }

    /// `PUT /_divan/pairings/{id}`
    func answerPairing() throws -> ListenerResponse {
        guard let isYes = try objectBody()["accept"]?.bool else {
            throw HTTPFailure.badRequest("`accept` must be true or false.")
        }
        return try done(.answer(resource.names[0], isYes: isYes))
    }

    /// `DELETE /_divan/pairings/{id}`
    func endPairing() throws -> ListenerResponse { try done(.end(resource.names[0])) }

    private func done(_ action: DeviceAction) throws -> ListenerResponse {
        _ = try administer(action)
        return .done()
    }

    private func administer(_ action: DeviceAction) throws -> JSONObject {
        guard let devices = site.options.devices else { throw HTTPFailure.missing }
        do { return try devices.administer(action, at: site.deviceSite) } catch {
            switch error.kind {
            case .invalid: throw HTTPFailure.badRequest(error.message)
            case .missing: throw HTTPFailure.notFound(error.message)
            case .conflict: throw HTTPFailure(409, "conflict", error.message)
            case .storage: throw HTTPFailure(500, "file_error", error.message)
            }
        }
    }
}
