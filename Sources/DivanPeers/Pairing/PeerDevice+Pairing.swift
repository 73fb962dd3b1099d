// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON
internal import DivanListener

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
    /// let pairing = try await device.pair(with: PeerLink(scanned))
    /// print("Paired with \(pairing.peer.name). Its screen shows \(pairing.code).")
    /// ```
    ///
    /// The addresses of the link are tried one after the other, and only the device with the certificate that the link names
    /// counts. The two then share the databases of the link under the same names. Pairing with a peer once more adds what the
    /// new link shares. Cancelling the task ends it; a link that the other device has taken is used up then.
    ///
    /// - Parameter link: The link.
    /// - Returns: The peer, and the digits that both screens show.
    /// - Throws: `PeerError` with code `.unreachable` when no address answers, `.untrusted` when only other devices do, `.refused`
    ///   when the link counts no longer or the other user says no, `.storage`, `.invalidValue` for a link of this device, or
    ///   `.cancelled`.
    public func pair(with link: PeerLink) async throws(PeerError) -> Pairing {
        guard !link.endpoint.fingerprint.hasSameBytes(as: identity.fingerprint) else {
            throw .ownLink
        }
        let transport = try PeerTransport(
            self, trusting: .fingerprints([link.endpoint.fingerprint]))
        defer { transport.close() }
        let secret = link.invitation.secret.bytes
        let body: JSONValue = [
            "secret": .string(Hexadecimal.text(secret)), "name": .string(name),
        ]
        let answer = try await transport.post(
            "_divan/pair", body, at: link.endpoint.places.map(\.host), port: link.endpoint.port)
        guard let key = answer["key"]?.string.flatMap(Hexadecimal.bytes), key.count == 32,
            let peerName = answer["name"]?.string, PairedPeer.isName(peerName),
            let databases = answer["databases"]?.array?.compactMap(\.string), databases.count <= 100
        else { throw .malformedAnswer }
        let own = identity.keyDigest
        let peer = PairedPeer(
            key: key, name: peerName, databases: NameSet(databases),
            secret: PeerKey.secret(secret, host: key, guest: own))
        try add(peer)
        return Pairing(peer: peer, code: PeerKey.code(secret, host: key, guest: own))
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
        // The other device may wait for its user for a minute.
        options.timeouts.head = .seconds(75)
        options.timeouts.silence = .seconds(75)
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
    /// - Returns: What is answered.
    /// - Throws: `PeerError`.
    func post(
        _ path: String, _ body: JSONValue, at hosts: [String], port: Int
    ) async throws(PeerError) -> JSONValue {
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
                return value
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

    /// The first address where the trusted device answers; nil when it does at none.
    func reach(_ hosts: [String], port: Int) async -> String? {
        for host in hosts where !Task.isCancelled {
            guard let url = try? HTTPURL("https://\(host):\(port)/"),
                let response = try? await transport.send(HTTPRequest(.get, url))
            else { continue }
            await response.body.drain()
            if response.status == 200 { return host }
        }
        return nil
    }
}

extension PeerDevice {
    /// The certificate and key that it shows as a client.
    var clientCertificate: ClientCertificate {
        ClientCertificate(certificate: identity.certificate, key: identity.key)
    }
}
