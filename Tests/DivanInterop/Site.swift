// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanListener
import Foundation

/// A listener of ours over databases in a folder.
final class Site: Sendable {
    let manager: Manager
    let server: Server
    private let listener: Listener
    private let folder: String

    /// Its port.
    var port: UInt16 { listener.port ?? 0 }

    /// Starts a listener.
    ///
    /// - Parameters:
    ///   - name: What reports call it.
    ///   - folder: Where its databases are, or come to be.
    ///   - transport: How requests get to it.
    ///   - port: Its port; 0 for any.
    init(name: String, folder: String, transport: any HTTPTransport, port: UInt16 = 0) throws {
        self.folder = folder
        var options = ListenerOptions()
        options.access = .everybodyOnLoopback
        options.port = port
        options.acceptsUnrunValidation = true
        manager = try Manager(directory: URL(filePath: folder))
        listener = Listener(manager, options)
        try listener.start()
        let url = try HTTPURL("http://127.0.0.1:\(listener.port ?? 0)/")
        server = Server(name: name, url: url, transport: transport)
    }

    /// Stops the listener and closes its databases.
    func stop() {
        listener.stop()
        manager.close()
    }
}
