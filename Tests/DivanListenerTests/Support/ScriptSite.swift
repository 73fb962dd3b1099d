// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import DivanJavaScript
import DivanSystem
import Foundation
import Testing

@testable import DivanListener

/// Whether scripts run on this machine; it is tried once.
enum ScriptEngine {
    /// What a test says that is skipped.
    static let need: Comment =
        "It needs the library JavaScriptCore, which scripts/bootstrap --tests installs."

    static let program = CurrentProcess.folder + "/divan-javascript"

    static let isHere = here.contains(.javaScriptCore)

    /// The engines whose libraries are here.
    static let here = JavaScriptEngine.allCases.filter {
        (try? JavaScriptRuntime(program: program, engine: $0).verify()) != nil
    }
}

/// A site that runs scripts, with a database `db`.
struct ScriptSite {
    let site: TestSite
    let database: Database

    /// Makes a site.
    ///
    /// - Parameters:
    ///   - design: The design document `_design/d`.
    ///   - engine: What runs them.
    ///   - limits: What scripts may take.
    ///   - edit: Changes the options.
    init(
        _ design: JSONValue, engine: JavaScriptEngine = .javaScriptCore,
        limits: JavaScriptLimits = JavaScriptLimits(),
        _ edit: (inout ListenerOptions) -> Void = { _ in }
    ) throws {
        site = try TestSite { options in
            options.scripts = [
                JavaScriptRuntime(program: ScriptEngine.program, engine: engine, limits: limits)
            ]
            edit(&options)
        }
        database = try site.manager.database(named: "db")
        try add(design)
    }

    /// Adds a design document, or another one in its place.
    func add(_ design: JSONValue, _ id: DocumentID = "_design/d") throws {
        let current = try database.document(withID: id)
        _ = try database.put(id, design.object ?? [:], parent: current?.revisionID)
    }

    /// Saves documents `d0`, `d1` and so on, of which each has its number as `n`.
    func fill(_ count: Int) throws {
        try database.inBatch {
            for n in 0..<count {
                try database.save(
                    MutableDocument(["n": .integer(Int64(n)), "name": "N\(n)"], id: "d\(n)"))
            }
        }
    }

    /// Adds the user `ann`, whose password is `a`.
    func addAnn() throws {
        let path = site.folder.path + "/listener.json"
        var file = try AccountsFile.load(path)
        file.users["ann"] = AccountsFile.User(password: "a", roles: [], iterations: 10)
        #expect(file.write(to: path))
    }

    @discardableResult
    func send(
        _ method: String, _ path: String, _ body: String = "", _ headers: HTTPHeaders = [:]
    ) -> TestAnswer {
        site.send(method, "/db/_design/d/" + path, body, headers)
    }

    /// What is answered to a `GET`.
    func get(_ path: String, _ headers: HTTPHeaders = [:]) -> TestAnswer {
        send("GET", path, "", headers)
    }
}
