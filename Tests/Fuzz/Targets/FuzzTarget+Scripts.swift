// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanDesign
import DivanListener
import FoundationEssentials
import Synchronization

extension FuzzTarget {
    /// What a process that runs scripts answers, as one may that a script has taken over: the first byte says what is asked, and each
    /// line is the answer to a command.
    static let scripts = FuzzTarget(
        "scripts",
        seeds: [
            "0[\"n\"]\n[[[1,null],[[1,{}],2]],[]]\n", "0null\n[\"log\",\"x\"]\n[[],[[1,1]]]\n",
            "0[\"_rev\",\"n\"]\n[\"error\",\"mine\",\"a reason\"]\n",
            "0[\"_conflicts\"]\n[[[{},1]]]\n",
            "1[]\n[[],[[1,1]]]\n[true,[2]]\n[true,[3]]\n", "1null\n[[],[[1,1]]]\n[true,[]]\n",
            "2[true,[true,false,true]]\n", "2[true,[1]]\n", "31\n", "3{\"forbidden\":\"no\"}\n",
            "3{\"unauthorized\":1}\n",
            "4[\"resp\",{\"body\":\"x\",\"code\":201,\"headers\":{\"A\":\"b\"}}]\n",
            "4[\"resp\",{\"base64\":\"!\",\"json\":1,\"code\":1e9,\"headers\":{\"A\\n\":1}}]\n",
            "5[\"start\",[\"a\"],{\"headers\":{\"Content-Type\":\"x/y\"}}]\n[\"chunks\",[\"b\"]]\n[\"end\",[]]\n",
            "6[\"up\",{\"_id\":\"c\",\"n\":1},{\"body\":\"x\"}]\n",
            "6[\"up\",null,{\"code\":\"x\"}]\n",
            "7[\"ok\",{\"path\":\"../a\",\"method\":\"PUT\",\"body\":\"{}\",\"query\":{\"a\":1}}]\n",
            "7[\"ok\",{\"code\":302,\"headers\":{\"Location\":\"x\"}}]\n",
            "7[\"no_dispatch_rule\"]\n",
            "8[\"n\"]\n[[[\"default\",\"a word\",{\"store\":true,\"facet\":true}],[\"n\",1,{}]]]\n",
        ]
    ) { bytes in
        let requests = FuzzedScripts.requests
        guard let first = bytes.first,
            let kind = requests.indices.first(where: { $0 + 0x30 == first })
        else { return }
        let (method, target) = requests[kind]
        FuzzedScripts.shared.lines.withLock { lines in
            lines = bytes.dropFirst().split(
                separator: 0x0A, omittingEmptySubsequences: false
            ).reversed().map { Array($0) }
        }
        // What was mapped is not mapped again.
        FuzzedScripts.changeDocument()
        let request = ListenerRequest(
            RequestHead(
                method: method, target: target,
                headers: ["Host": "localhost", "Content-Type": "application/json"]),
            body: .bytes(method == "GET" ? [] : Array(#"{"n":1}"#.utf8)))
        let response = FuzzedScripts.router.respond(request)
        if case .stream(let producer, _) = response.body {
            for _ in 0..<64 {
                guard case .bytes? = try? producer.next() else { break }
            }
            producer.cancel()
        }
    }
}

/// A runtime whose processes answer what the fuzzer thinks up, and a database with a design document.
private final class FuzzedScripts: ScriptRuntime, ScriptProcesses, ScriptProcess {
    static let shared = FuzzedScripts()

    /// By the digit that an input begins with.
    static let requests = [
        (method: "GET", target: "/scripts/_design/d/_view/rows"),
        ("GET", "/scripts/_design/d/_view/sums"), ("GET", "/scripts/_changes?filter=d/f"),
        ("POST", "/validated"), ("GET", "/scripts/_design/d/_show/s/a"),
        ("GET", "/scripts/_design/d/_list/l/rows"), ("PUT", "/scripts/_design/d/_update/u/b"),
        ("GET", "/scripts/_design/d/_rewrite/x"), ("GET", "/scripts/_design/d/_search/words?q=a"),
    ]

    /// The answers that are left, the next one last.
    let lines = Mutex<[[UInt8]]>([])

    let mapsManyDocuments = true
    var languages: NameSet { ["javascript"] }
    var server: ScriptServer { ScriptServer(self) }

    func withProcess<Result>(
        for program: ScriptProgram, _ body: (any ScriptProcess) throws(ScriptError) -> Result
    ) throws(ScriptError) -> Result { try body(self) }

    func ask(_ commands: [UInt8], count: Int) throws(ScriptError) -> [ScriptAnswer] {
        var answers: [ScriptAnswer] = []
        var answer = ScriptAnswer()
        while answers.count < count {
            guard let line = lines.withLock({ $0.popLast() }) else { throw .workerFailed }
            guard try answer.take(line) else { continue }
            answers.append(answer)
            answer = ScriptAnswer()
        }
        return answers
    }

    private static let manager: Manager = {
        do {
            return try Manager(
                directory: FileManager.default.temporaryDirectory.appending(
                    path: "divan-fuzz-\(UUID().uuidString)"))
        } catch { fatalError("\(error)") }
    }()

    private static let database: Database = {
        do {
            let function = "function() {}"
            let validated = try manager.database(named: "validated")
            try validated.save(
                MutableDocument(["validate_doc_update": .string(function)], id: "_design/d"))
            validated.designDocuments.enable(shared, validates: true)
            let database = try manager.database(named: "scripts")
            try database.save(MutableDocument([:], id: "a"))
            try database.save(
                MutableDocument(
                    [
                        "views": [
                            "rows": ["map": .string(function)],
                            "sums": ["map": .string(function), "reduce": .string(function)],
                        ],
                        "indexes": ["words": ["index": .string(function)]],
                        "filters": ["f": .string(function)], "shows": ["s": .string(function)],
                        "lists": ["l": .string(function)], "updates": ["u": .string(function)],
                        "rewrites": .string(function),
                    ], id: "_design/d"))
            database.designDocuments.enable(shared)
            return database
        } catch { fatalError("\(error)") }
    }()

    static let router: Router = {
        do {
            var options = ListenerOptions()
            options.access = .everybodyOnLoopback
            options.scripts = [shared]
            return try Router(manager, options)
        } catch { fatalError("\(error)") }
    }()

    static func changeDocument() {
        do {
            try database.update("a") { document in
                document.setInt64((document["n"].int64 ?? 0) + 1, forKey: "n")
            }
        } catch { fatalError("\(error)") }
    }
}
