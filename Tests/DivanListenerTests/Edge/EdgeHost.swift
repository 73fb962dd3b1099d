// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanTestSupport
import Foundation

@testable import DivanListener

/// A machine with a listener, a hub or an edge: it can go down, come up again and lose its disk.
///
/// State: `running`; a test uses it from one task.
final class EdgeHost {
    let folder: URL
    private let edit: (inout ListenerOptions) -> Void
    private var running: (manager: Manager, listener: Listener)?
    private(set) var port: UInt16 = 0

    /// Makes a machine that is up.
    init(_ edit: @escaping (inout ListenerOptions) -> Void = { _ in }) throws {
        folder = TestSite.newFolder()
        self.edit = edit
        try start()
    }

    /// An edge of a hub.
    convenience init(
        of hub: EdgeHost, _ databases: [String],
        _ edit: @escaping (inout ListenerHub) -> Void = { _ in }
    ) throws {
        try self.init { [unowned hub] in $0.hub = hub.address(databases, edit) }
    }

    deinit {
        stop()
        try? FileManager.default.removeItem(at: folder)
    }

    /// The settings of an edge of this machine.
    func address(_ databases: [String], _ edit: (inout ListenerHub) -> Void = { _ in })
        -> ListenerHub
    {
        var settings = ListenerHub("http://127.0.0.1:\(port)", databases: databases)
        settings.interval = .milliseconds(50)
        settings.patience = .zero
        edit(&settings)
        return settings
    }

    var manager: Manager { running!.manager }
    var site: Site { running!.listener.site! }
    var edge: EdgeSupervisor { site.edge! }

    func start() throws {
        let manager = try Manager(directory: folder)
        var options = ListenerOptions()
        options.access = .everybodyOnLoopback
        options.port = port
        edit(&options)
        let listener = Listener(manager, options)
        try listener.start()
        port = listener.port ?? 0
        running = (manager, listener)
    }

    /// Goes down, at once or in order: replications then save how far they have come.
    func stop(inOrder: Bool = false) {
        running?.listener.stop(finishing: inOrder ? .seconds(60) : .zero)
        running?.manager.close()
        running = nil
    }

    func database(_ name: String) throws -> Database { try manager.database(named: name) }

    /// Whether a document is there with a number in it.
    func has(_ n: Int64, _ id: DocumentID, in name: String) throws -> Bool {
        try manager.existingDatabase(named: name)?.document(withID: id)?["n"].int64 == n
    }

    func save(_ n: Int64, _ id: DocumentID, in name: String) throws {
        let document =
            try database(name).document(withID: id)?.toMutable() ?? MutableDocument([:], id: id)
        document["n"] = Fragment(n)
        try database(name).save(document)
    }

    /// What is answered to a request without a client in between.
    func send(_ method: String, _ target: String, _ body: String = "") -> TestAnswer {
        let head = RequestHead(
            method: method, target: target, headers: ["Host": "127.0.0.1:\(port)"])
        return TestAnswer(
            Router(site: site).respond(ListenerRequest(head, body: .bytes(Array(body.utf8)))))
    }

    /// What the edge tells of a database.
    func state(of name: String) -> EdgeReport.Entry? { edge.report.entries[name] }

    /// The document by which a database goes in a direction.
    func document(_ direction: EdgeDocument.Direction, _ name: String) throws -> Document? {
        try manager.existingDatabase(named: "_replicator")?.document(
            withID: EdgeDocument(direction, name).id)
    }
}
