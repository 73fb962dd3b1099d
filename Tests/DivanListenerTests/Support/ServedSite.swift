// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

@testable import DivanListener

/// A site with a listener on a socket of its own. Both go with it.
///
/// Every user of this machine may do everything, unless the options say otherwise.
final class ServedSite: Sendable {
    let site: TestSite
    let listener: Listener
    /// The database `db`, which is there from the beginning.
    let database: Database

    init(_ edit: (inout ListenerOptions) -> Void = { _ in }) throws {
        site = try TestSite()
        database = try site.manager.database(named: "db")
        listener = try site.listen(edit)
    }

    deinit { listener.stop() }

    var port: UInt16 { listener.port ?? 0 }

    /// A connection, as that of `RawClient`.
    func client(from host: UInt8 = 1, room: Int32? = nil) throws -> RawClient {
        try RawClient(port: port, from: host, room: room)
    }

    /// The status of one request on a connection of its own; nil when it is not answered.
    func status(
        _ method: String, _ target: String, _ headers: [String], _ body: [UInt8] = [],
        from host: UInt8 = 1
    ) throws -> Int? {
        let client = try client(from: host)
        client.request(method, target, headers, body)
        return client.answer()?.status
    }
}

extension TestSite {
    /// A listener of the site's databases that has started. It stops when it is let go.
    func listen(_ edit: (inout ListenerOptions) -> Void = { _ in }) throws -> Listener {
        var options = ListenerOptions()
        options.access = .everybodyOnLoopback
        edit(&options)
        let listener = Listener(manager, options)
        try listener.start()
        return listener
    }
}
