// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Divan
import FoundationEssentials
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Asks for the manager of the process from many threads at once, in an environment of its own.
///
///     managers 1 of 64          how many objects were met, in how many calls
///     directory PATH            the manager's directory
///     document 1-...            saved and read through it
struct SharedManager {
    private let folder: String

    init(_ arguments: [String]) throws { folder = try arguments.argument(0) }

    func run() throws {
        setenv("XDG_DATA_HOME", folder, 1)
        let calls = 64
        let managers = Mutex<[Manager]>([])
        DispatchQueue.concurrentPerform(iterations: calls) { _ in
            guard let manager = try? Manager.shared() else { return }
            managers.withLock { $0.append(manager) }
        }
        let met = managers.withLock { $0 }
        Report.say("managers \(Set(met.map(ObjectIdentifier.init)).count) of \(met.count)")
        let manager = try Manager.shared()
        Report.say("directory \(manager.directory.path(percentEncoded: false))")
        let database = try manager.database(named: "app")
        let saved = try database.save(MutableDocument(["n": 1], id: "a")).document
        let read = try Manager.shared().database(named: "app").document(withID: "a")
        Report.say("document \(read?.revisionID == saved.revisionID ? saved.revisionID : "none")")
    }
}
