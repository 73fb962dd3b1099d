// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanListener
import DivanPeers
import Foundation

/// This device, while it sends or receives.
///
/// Its key and its databases lie in a folder of their own, which goes at the end: who was paired is a stranger the next time.
struct Meeting: Sendable {
    let manager: Manager
    let device: PeerDevice
    let listener: Listener
    let sync: PeerSync

    /// Lets a function work with a device that is there until it returns.
    static func with(
        name: String, host: String, _ body: (Meeting) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "photodrop-\(UUID())")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        let manager = try Manager(directory: folder)
        defer { manager.close() }
        var options = ListenerOptions()
        options.host = host
        let device = try PeerDevice(manager, name: name)
        options.device = device
        let listener = Listener(manager, options)
        try listener.start()
        defer { listener.stop() }
        let sync = PeerSync(listener)
        try sync.start()
        let outcome: Result<Void, any Error>
        do {
            try await body(
                Meeting(manager: manager, device: device, listener: listener, sync: sync))
            outcome = .success(())
        } catch { outcome = .failure(error) }
        await sync.stop()
        try outcome.get()
    }
}

/// What the user is told when something cannot be done.
struct DropError: Error {
    var sentence: String
}

func sentence(of error: any Error) -> String {
    switch error {
    case let error as DropError: error.sentence
    case let error as PeerError: error.message
    case let error as DatabaseError: error.message
    default: error.localizedDescription
    }
}

/// Writes a line at once, also where a pipe takes it.
func say(_ text: String, to output: FileHandle = .standardOutput) {
    output.write(Data((text + "\n").utf8))
}
