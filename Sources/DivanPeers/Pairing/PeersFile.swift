// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanSystem

/// The file `peers.json`: what a device calls itself, and the devices that it is paired with.
///
///     {"name": "Ann's laptop", "port": 49213,
///      "peers": [{"key": "…", "name": "Bob's phone", "databases": ["notes"], "secret": "…", "paired": 1795224062,
///                 "place": {"addresses": ["192.168.1.7"], "port": 49213}}],
///      "revocations": 1}
///
/// Only its owner may read it. Programs that change it at the same time wait for each other: what one has revoked, another
/// does not bring back.
struct PeersFile: Sendable {
    var name: String?
    /// The port that the device listened on last.
    var port: UInt16?
    var peers: [PairedPeer] = []
    /// How many devices were revoked. A pairing that began before the last of them pairs no device.
    var revocations: Int64 = 0

    /// Tells one writing of the file from the next; nil while there is none.
    typealias Stamp = Files.Stamp

    /// Reads a file; an empty one where there is none.
    ///
    /// - Throws: `PeerError` with code `.storage` when it is malformed or cannot be read.
    static func load(_ path: String) throws(PeerError) -> PeersFile {
        guard Files.exists(path) else { return PeersFile() }
        guard let bytes = OwnersFile.read(path), let value = try? JSONParser.parse(bytes),
            let list = value["peers"]?.array
        else { throw .malformedFile }
        var file = PeersFile()
        file.name = value["name"]?.string
        file.port = value["port"]?.int64.flatMap(UInt16.init(exactly:))
        file.revocations = value["revocations"]?.int64 ?? 0
        for item in list {
            guard let peer = PairedPeer(item) else { throw .malformedFile }
            file.peers.append(peer)
        }
        return file
    }

    /// Changes a file, alone.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - change: What to change.
    /// - Returns: What the closure returns.
    /// - Throws: `PeerError` with code `.storage`, and what the closure throws; nothing is changed then.
    static func change<T>(
        _ path: String, _ change: (inout PeersFile) throws(PeerError) -> T
    ) throws(PeerError) -> T {
        guard let lock = OwnersFile.lock(path) else { throw .unwritableFile }
        defer { lock.unlock() }
        var file = try load(path)
        let result = try change(&file)
        var value: JSONObject = ["peers": .array(file.peers.map(\.json))]
        if let name = file.name { value["name"] = .string(name) }
        if let port = file.port { value["port"] = .integer(Int64(clamping: port)) }
        if file.revocations > 0 { value["revocations"] = .integer(file.revocations) }
        var text: [UInt8] = []
        JSONWriter.append(.object(value), to: &text, pretty: true)
        guard OwnersFile.replace(path, text) else { throw .unwritableFile }
        return result
    }
}
