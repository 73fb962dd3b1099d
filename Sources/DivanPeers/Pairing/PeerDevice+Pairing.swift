// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON
internal import DivanListener
internal import DivanSystem
internal import Synchronization

/// What came of scanning a link.
public struct Pairing: Sendable {
    /// The device that made the link.
    public let peer: PairedPeer
    /// The digits that both screens show.
    public let code: String
}

extension PeerDevice {
    /// Pairs this device with the one that made a link.
    ///
    /// ```swift
    /// let pairing = try await device.pair(with: PeerLink(scanned)) { code in
    ///     print("The other screen shows \(code) as well.")
    /// }
    /// print("Paired with \(pairing.peer.name).")
    /// ```
    ///
    /// **The other device may read and change the database that the link names, here as well**, under the same name. Where there is
    /// one already, ask the user before.
    ///
    /// The addresses of the link are tried one after the other, and only the device with the certificate that the link names
    /// counts. The addresses are kept for ``PeerSync``. Pairing with a peer once more adds what the new link shares. Cancelling the task ends it, and the link is used
    /// up then.
    ///
    /// - Parameters:
    ///   - link: The link.
    ///   - showing: Gets the digits that both screens show, before the other user is asked.
    /// - Returns: The peer, and the digits.
    /// - Throws: `PeerError` with code `.unreachable` when no address answers, `.untrusted` when only other devices do, `.refused`
    ///   when the link counts no longer, the other user says no, or a device was revoked here meanwhile, `.storage`, `.invalidValue` for a link of this device, or
    ///   `.cancelled`.
    public func pair(
        with link: PeerLink, showing: (@Sendable (_ code: String) -> Void)? = nil
    ) async throws(PeerError) -> Pairing {
        try await pair(with: link) { showing?($0.code) }
    }

    /// The same, where more than the digits is shown.
    ///
    /// - Parameters:
    ///   - link: The link.
    ///   - meeting: Gets the other device and the digits.
    ///   - claiming: Is asked before the peer is kept, and says whether it still may be.
    /// - Returns: The peer, and the digits.
    /// - Throws: As above.
    func pair(
        with link: PeerLink, meeting: @Sendable (PairingCandidate) -> Void,
        claiming: @Sendable () -> Bool = { true }
    ) async throws(PeerError) -> Pairing {
        guard !link.endpoint.fingerprint.hasSameBytes(as: identity.fingerprint) else {
            throw .ownLink
        }
        let trust = LinkTrust(link.endpoint.fingerprint)
        let transport = try PeerTransport(self, trusting: .decision(trust.decision))
        defer { transport.close() }
        let revocations = revocations
        let (own, secret) = (identity.keyDigest, link.invitation.secret.bytes)
        let guestNonce = RandomBytes.make(16)
        let (welcome, host) = try await transport.post(
            "_divan/pair",
            [
                "secret": .string(Hexadecimal.text(secret)), "name": .string(name),
                "commitment": .string(
                    Hexadecimal.text(PeerKey.commitment(to: guestNonce, of: own))),
            ], at: link.endpoint.places.map(\.host), port: link.endpoint.port)
        // The key that the TLS connection has proven, whatever the answer says.
        guard let key = trust.key, let hostName = welcome["name"]?.string,
            PairedPeer.isName(hostName),
            let hostNonce = welcome["nonce"]?.string.flatMap(Hexadecimal.bytes),
            hostNonce.count == 16
        else { throw .malformedAnswer }
        let code = PeerKey.code(
            PeerKey.codeKey(secret, host: key, guest: own), hostNonce: hostNonce,
            guestNonce: guestNonce)
        meeting(
            PairingCandidate(
                name: hostName, id: PeerKey.id(of: key), code: code, databases: [link.database]))
        try await waitForYes(transport, guestNonce, host, link.endpoint.port)
        var peer = PairedPeer(
            key: key, name: hostName, databases: [link.database],
            secret: PeerKey.secret(secret, host: key, guest: own))
        peer.place = PeerPlace(link.endpoint.places, port: UInt16(clamping: link.endpoint.port))
        guard !Task.isCancelled, claiming() else { throw .cancelled }
        try add(peer, since: revocations)
        return Pairing(peer: peer, code: code)
    }

    /// Shows the nonce until the other user has said yes.
    private func waitForYes(
        _ transport: PeerTransport, _ nonce: [UInt8], _ host: String, _ port: Int
    ) async throws(PeerError) {
        let end = ContinuousClock.now + .seconds(90)
        while ContinuousClock.now < end {
            let (answer, _) = try await transport.post(
                "_divan/pair", ["opening": .string(Hexadecimal.text(nonce))], at: [host],
                port: port)
            if answer["state"]?.string == "paired" { return }
            do { try await Task.sleep(for: .milliseconds(300)) } catch { throw .cancelled }
        }
        throw .noAnswer
    }
}

/// Trusts the device with a certificate, and notes the key that it has proven to have.
///
/// State: the key, guarded by its mutex.
private final class LinkTrust: Sendable {
    private let fingerprint: String
    private let shown = Mutex<[UInt8]?>(nil)

    init(_ fingerprint: String) { self.fingerprint = fingerprint }

    var key: [UInt8]? { shown.withLock { $0 } }

    var decision: ServerTrustDecision {
        ServerTrustDecision { [self] server in
            guard server.fingerprint.hasSameBytes(as: fingerprint),
                let key = server.certificates.first.flatMap(CertificatePin.sha256(ofKeyIn:))
            else { return false }
            shown.withLock { $0 = key }
            return true
        }
    }
}

extension TrustPolicy {
    /// Trusts the device that has a key, before this one shows its certificate to it.
    static func peer(_ key: [UInt8]) -> TrustPolicy {
        .decision(
            ServerTrustDecision { server in
                server.certificates.first.flatMap(CertificatePin.sha256(ofKeyIn:)) == key
            })
    }
}

/// Speaks to another device, with this device's certificate.
struct PeerTransport {
    private let transport: CurlTransport

    /// - Throws: `PeerError` with code `.unreachable` when the network cannot be used.
    init(_ device: PeerDevice, trusting trust: TrustPolicy) throws(PeerError) {
        var options = CurlTransport.Options()
        options.trust = trust
        options.clientCertificate = device.clientCertificate
        options.proxy = .none
        options.followsRedirects = false
        options.timeouts.connect = .seconds(5)
        options.timeouts.head = .seconds(20)
        options.timeouts.silence = .seconds(20)
        do { transport = try CurlTransport(options) } catch { throw .noNetwork("\(error)") }
    }

    func close() { transport.close() }

    /// Sends a JSON object to the first address where the trusted device answers.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - body: The object.
    ///   - hosts: The addresses, as URLs write them.
    ///   - port: The port.
    /// - Returns: What is answered, and where.
    /// - Throws: `PeerError`.
    func post(
        _ path: String, _ body: JSONValue, at hosts: [String], port: Int
    ) async throws(PeerError) -> (JSONValue, host: String) {
        var isOther = false
        for host in hosts {
            do {
                let url = try HTTPURL("https://\(host):\(port)/\(path)")
                let response = try await transport.send(
                    HTTPRequest(.post, url, json: Array(body.description.utf8)))
                let text = try await response.body.collect(limit: 64 << 10)
                let value = try? JSONParser.parse(text)
                guard response.status == 200, let value else {
                    throw PeerError.refusal(value?["error"]?.string, response.status)
                }
                return (value, host)
            } catch let error as PeerError {
                throw error
            } catch let error as HTTPError {
                // A private address may be another device's on this network.
                if error.code == .untrusted || error.code == .tlsFailed { isOther = true }
            } catch {
                if Task.isCancelled { throw .cancelled }
            }
        }
        throw isOther ? .otherDevice : .unreachable
    }

    /// Greets the trusted device at the first address where it answers.
    ///
    /// - Parameters:
    ///   - spots: Where it may be.
    ///   - own: Where this device listens; nil when it has no address.
    /// - Returns: What it answered.
    func greet(at spots: [PeerSpot], from own: PeerPlace?) async -> Greeting {
        let body = Array(JSONValue.object(own?.json ?? [:]).description.utf8)
        for spot in spots where !Task.isCancelled {
            guard let url = try? HTTPURL("https://\(spot.host):\(spot.port)/_divan/greet"),
                let response = try? await transport.send(HTTPRequest(.post, url, json: body))
            else { continue }
            await response.body.drain()
            switch response.status {
            case 200: return .answered(spot)
            case 401, 403: return .refused
            default: continue
            }
        }
        return .unanswered
    }
}

extension PeerDevice {
    /// The certificate and key that it shows as a client.
    var clientCertificate: ClientCertificate {
        ClientCertificate(certificate: identity.certificate, key: identity.key)
    }
}
