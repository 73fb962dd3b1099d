// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
package import DivanJSON

/// The devices that a listener knows by the key that they show over TLS, in a certificate of any issuer.
///
/// A listener with devices asks every client for a certificate and lets each go on without one. `DivanPeers` keeps the
/// list of devices that are paired, and pairs new ones.
package protocol ListenerDevices: Sendable {
    /// The SHA-256 of this device's public key, by which the others know it; nil for any.
    var key: [UInt8]? { get }

    /// The device that has a key; nil when it is not paired. Asked for each request, so that a device that was revoked is
    /// refused at once.
    func device(withKey key: [UInt8]) -> ListenerDevice?

    /// Pairs the device that has a key.
    ///
    /// - Parameters:
    ///   - request: What the device sent.
    ///   - key: The SHA-256 of its public key.
    ///   - network: The network that it is in.
    /// - Returns: What the device is answered.
    /// - Throws: `PairingRefusal`.
    func pair(_ request: JSONObject, key: [UInt8], network: String) throws -> JSONObject

    /// Notes what a paired device tells of itself: where it listens.
    ///
    /// - Parameters:
    ///   - greeting: What the device sent.
    ///   - key: The SHA-256 of its public key.
    /// - Returns: Whether this device synchronises now.
    func greet(_ greeting: JSONObject, key: [UInt8]) -> Bool

    /// The port that this device listened on last; nil when it never did. The next listener that may choose its port takes it
    /// again, so that devices which know the address find this one.
    var lastPort: UInt16? { get }

    /// Keeps the port that this device listens on.
    func keep(port: UInt16)

    /// Does what an administrator asks for.
    ///
    /// - Parameters:
    ///   - action: What to do.
    ///   - site: The listener that was asked.
    /// - Returns: What the administrator is answered; empty where there is nothing to tell.
    /// - Throws: `DeviceFailure`; nothing was done then.
    func administer(_ action: DeviceAction, at site: DeviceSite) throws(DeviceFailure)
        -> JSONObject
}

/// What a paired device may do.
package struct ListenerDevice: Sendable {
    /// The name that the listener's rules and log know it by.
    package var name: String
    /// The databases that it may read and write, as a member.
    package var databases: NameSet

    /// Makes one.
    package init(name: String, databases: NameSet) {
        self.name = name
        self.databases = databases
    }

    /// The name of the user that a paired device is here.
    ///
    /// - Parameter id: The device's ID.
    /// - Returns: The name.
    package static func user(ofPeer id: String) -> String { prefix + id }

    private static let prefix = "device-"

    /// Whether a name is one that a paired device may have, whose ID is shown to each client that connects: no account has it.
    static func isUser(_ name: String) -> Bool {
        name.afterBytePrefix(prefix).map { id in
            id.utf8.count == 32 && Hexadecimal.bytes(id) != nil
        } ?? false
    }
}

/// Why a device is not paired.
package enum PairingRefusal: String, Error, Sendable {
    /// The request lacks something.
    case malformed = "pairing_malformed"
    /// No link has the secret, or the one that has was withdrawn.
    case unknownLink = "pairing_unknown"
    /// The link's time is over.
    case expired = "pairing_expired"
    /// Another device has used the link, or this one has.
    case used = "pairing_used"
    /// Wrong secrets came from this network, so many that none is looked at for a while.
    case tooManyGuesses = "pairing_locked"
    /// The user of this device said no.
    case declined = "pairing_declined"

    /// What the other device is told.
    package var reason: String {
        switch self {
        case .malformed: "The request to pair is malformed; update the app on this device."
        case .unknownLink: "The link is not known here; make a new one."
        case .expired: "The link's time is over; make a new one."
        case .used: "The link was used already; make a new one."
        case .tooManyGuesses:
            "Too many wrong links came from this network; try again in some minutes."
        case .declined: "The other device declined; make a new link to try again."
        }
    }
}

extension Call {
    /// Refuses what a paired device asks for, and what it is being sent, once it may no longer have it.
    func checkDevice() throws {
        guard user.databases != nil else { return }
        let key = request.head.certificate.key
        let device = key.flatMap { site.options.devices?.device(withKey: $0) }
        guard let device, try device.databases.contains(database.name) else {
            throw HTTPFailure.forbidden(
                "The device is not paired, or does not share this database.")
        }
    }

    /// `POST /_divan/pair`
    func pair() throws -> ListenerResponse {
        guard let devices = site.options.devices else { throw HTTPFailure.missing }
        guard let key = request.head.certificate.key else {
            throw HTTPFailure.forbidden("A device that pairs shows a certificate of its own.")
        }
        do {
            let answer = try devices.pair(
                objectBody(), key: key, network: request.head.network)
            return .json(.object(answer))
        } catch let refusal as PairingRefusal {
            let status = refusal == .malformed ? 400 : refusal == .tooManyGuesses ? 429 : 403
            throw HTTPFailure(status, refusal.rawValue, refusal.reason)
        }
    }

    /// `POST /_divan/greet`
    func greet() throws -> ListenerResponse {
        guard let devices = site.options.devices else { throw HTTPFailure.missing }
        guard let key = request.head.certificate.key, devices.device(withKey: key) != nil else {
            throw HTTPFailure.forbidden("The device is not paired.")
        }
        guard try devices.greet(objectBody(), key: key) else { throw HTTPFailure.missing }
        return .json(["ok": true])
    }
}
