// SPDX-License-Identifier: Apache-2.0

import BenchmarkInput
import Foundation

/// One row of the table: what is done, how often, to which database.
struct Workload: Sendable {
    /// What a run starts from.
    enum Start: Sendable {
        /// An empty folder.
        case nothing
        /// The database of all documents, which the run only reads.
        case filled
        /// A copy of the database of all documents, which the run changes.
        case copy
        /// The database of all documents with an index on their full text, which the run only reads.
        case indexed
    }

    /// The name in the results.
    var name: String
    /// The name the runners know, without the kind of IDs.
    var work: String
    var ids: InputFile.IDKind
    var operations: Int
    var start: Start
    /// Whether this is about JSON alone, which Foundation's own parser is the floor of.
    var isJSON = false
    /// Which floors do it, too: they have no revision trees, and only the plain one has indexes.
    var floors = Floors.both
    /// What the documents are.
    var texts = Texts.people
    /// How many documents the database has.
    var documents = 0

    /// Which floors a workload has.
    enum Floors: Sendable {
        case both, plain, none
        /// The plain one and the layout one on SQLite, for what SQL does with an index of its own.
        case sql
        /// None, but the encrypted engine does it, too.
        case encrypted
        /// cp(1), for what moves the bytes of files.
        case copy
        /// SQLite's FTS5, for full text.
        case fullText
        /// The plain ones of both engines, and the databases that Python has.
        case peers
    }

    /// All workloads for a number of documents, each with both kinds of IDs.
    static func all(count: Int) -> [Workload] {
        let people = people(count).map { workload in
            var workload = workload
            workload.documents = count
            return workload
        }
        return people + texts(count) + records(count)
    }

    /// Those on the person documents.
    private static func people(_ count: Int) -> [Workload] {
        func both(_ work: String, _ operations: Int, _ start: Start) -> [Workload] {
            [
                Workload(
                    name: work, work: work, ids: .generated, operations: operations, start: start),
                Workload(
                    name: work + "_random_ids", work: work, ids: .random, operations: operations,
                    start: start),
            ]
        }
        let single = min(2000, count)
        let updates = min(20_000, max(count / 5, 1))
        return both("insert_batch", count, .nothing)
            + both("insert_single", single, .nothing)
            + both("read_random", count, .filled)
            + both("read_random_each", count, .filled)
            + both("update_batch", updates, .copy)
            + both("scan_predicate", count, .filled)
            + both("all_documents", count, .filled)
            + both("all_ids", count, .filled)
            + [
                Workload(
                    name: "all_id_rows", work: "all_id_rows", ids: .generated, operations: count,
                    start: .filled, floors: .none)
            ]
            + both("open", 50, .filled)
            + [
                Workload(
                    name: "read_many", work: "read_many", ids: .generated, operations: count,
                    start: .filled, floors: .encrypted),
                Workload(
                    name: "read_under_writes", work: "read_under_writes", ids: .generated,
                    operations: min(count, 50_000), start: .copy, floors: .none),
            ]
            + writers(count)
            + json(count)
            + conflicts(min(10_000, count))
            + indexes(count)
            + lives(count)
            + keys(count)
            + wire(count)
    }

    /// Durable commits of one document, by as many threads at once; the floor's one thread does as many.
    private static func writers(_ count: Int) -> [Workload] {
        [1, 2, 4, 8, 16, 32, 64].map { threads in
            Workload(
                name: "write_many_\(threads)", work: "write_many_\(threads)", ids: .generated,
                operations: min(4096, count), start: .nothing, floors: .plain)
        }
    }

    /// Live documents, notifications, attachments, compaction and expiration.
    private static func lives(_ count: Int) -> [Workload] {
        func work(
            _ name: String, _ operations: Int, _ start: Start, _ floors: Floors = .none
        ) -> Workload {
            Workload(
                name: name, work: name, ids: .generated, operations: operations, start: start,
                floors: floors)
        }
        return [
            work("live_property", 100 * count, .filled), work("live_update", 2000, .copy),
            work("notify_latency", 2000, .copy),
            work("attachment_write", 1, .nothing, .copy),
            work("attachment_read", 1, .nothing, .copy),
            work("compact_revisions", count, .copy), work("expire", count, .copy),
        ]
    }

    /// The storage engines by themselves: keys of 16 bytes, and the same behind 2,000 that all share.
    private static func keys(_ count: Int) -> [Workload] {
        ["keys_short", "keys_long"].map { work in
            Workload(
                name: work, work: work, ids: .generated, operations: count, start: .nothing,
                floors: .none)
        }
    }

    /// Replication and the listener, over loopback, both ends in one process.
    private static func wire(_ count: Int) -> [Workload] {
        func work(_ name: String, _ operations: Int, _ start: Start) -> Workload {
            Workload(
                name: name, work: name, ids: .generated, operations: operations, start: start,
                floors: .none)
        }
        let some = min(20_000, count)
        return [
            // Of more than a million documents all are brought over.
            work("pull", count > 1_000_000 ? count : some, .nothing), work("push", some, .nothing),
            work("resync", 50, .copy), work("checkpoint_lost", count, .copy),
            work("edit_latency", 200, .nothing), work("listener_get", some, .nothing),
            work("listener_get_awake", some, .nothing), work("listener_get_many", some, .nothing),
            work("listener_bulk_docs", some, .nothing), work("listener_changes", some, .nothing),
            work("idle_longpolls", 2_000, .nothing), work("attachment_pull", 1, .nothing),
            work("attachment_push", 1, .nothing),
            work("pull_attachments", min(10_000, count), .nothing),
            work("push_attachments", min(10_000, count), .nothing),
        ]
    }

    /// Views, each on a copy of the database of all documents.
    private static func indexes(_ count: Int) -> [Workload] {
        func work(_ name: String, _ operations: Int, _ floors: Floors = .none) -> Workload {
            Workload(
                name: name, work: name, ids: .generated, operations: operations, start: .copy,
                floors: floors)
        }
        return [
            work("index_map", count, .plain), work("index_map_ten", count),
            work("index_javascript", count), work("index_javascript_ten", count),
            work("index_javascript_jit", count),
            work("index_tenth", count), work("index_tenth_ten", count),
            work("index_update", 20, .plain), work("index_update_sum", 20),
            work("index_update_reduce", 20), work("property_update", 20, .sql),
            work("query_index", count, .plain),
            work("reduce_range", 1000), work("reduce_after_edit", 200),
            work("index_map_one_core", count), work("index_property", count, .sql),
            work("group_count", count), work("query_count", count, .sql),
            work("query_email", count / 2, .plain), work("query_rows", count, .sql),
            work("query_100", 2000),
            work("query_beside_large", 2000), work("live_query", 500),
        ]
    }

    /// What needs no database: the work on one document's text, over and over all documents.
    private static func json(_ count: Int) -> [Workload] {
        ["json_parse", "json_canonical", "property_lookup"].map { work in
            Workload(
                name: work, work: work, ids: .generated, operations: 2 * count, start: .nothing,
                isJSON: true)
        }
    }

    /// One document with thousands of live leaves, and thousands of documents with two.
    private static func conflicts(_ count: Int) -> [Workload] {
        ["conflict_leaves", "conflict_read", "conflict_resolve"].map { work in
            Workload(
                name: work, work: work, ids: .generated, operations: count, start: .nothing,
                floors: .none)
        }
    }
}

/// What runs a workload: a program and the words before its arguments.
struct Engine: Sendable {
    /// The name in the results.
    var name: String
    var program: String
    var firstArguments: [String]

    /// The databases of Python's packages that are installed.
    static var peers: [Engine] {
        ["apsw", "rocksdict", "duckdb"].filter { name in
            let look = Process()
            look.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            look.arguments = ["python3", "-c", "import \(name)"]
            look.standardError = nil
            guard (try? look.run()) != nil else { return false }
            look.waitUntilExit()
            return look.terminationStatus == 0
        }.map { name in
            Engine(
                name: name, program: "/usr/bin/env", firstArguments: ["python3", "peer.py", name])
        }
    }

    /// Whether it is Divan, on one engine or another.
    var isDivan: Bool { name == Self.divan || name == Self.divanOnLMDB }

    /// The program that an engine is, or is a part of.
    static func program(of name: String) -> String {
        switch name {
        case plainFloor, layoutFloor, plainLMDBFloor, fullTextFloor: "Floor"
        case "apsw", "rocksdict", "duckdb": "peer.py"
        default: "DivanRunner"
        }
    }

    /// The plain floor that an engine's figures are compared with.
    static func plainFloor(of name: String) -> String {
        name == divanOnLMDB || name == plainLMDBFloor ? plainLMDBFloor : plainFloor
    }

    /// The floor of one table of texts.
    static let plainFloor = "plain-floor"
    /// The floor of Divan's own rows.
    static let layoutFloor = "layout-floor"
    /// Divan on its SQLite engine.
    static let divan = "divan-sqlite"
    /// Divan on its LMDB engine.
    static let divanOnLMDB = "divan-lmdb"
    /// The floor of one database of texts, on LMDB.
    static let plainLMDBFloor = "plain-floor-lmdb"
    /// The same with a key.
    static let divanEncrypted = "divan-encrypted"
    /// The floor of work on JSON: Foundation's `JSONSerialization`, in Swift.
    static let foundation = "foundation"
    /// The floor of work on attachments: cp(1).
    static let copy = "cp"
    /// The floor of full text: SQLite's FTS5 over the plain floor's documents.
    static let fullTextFloor = "fts5"
}
