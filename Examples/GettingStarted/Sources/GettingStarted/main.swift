// SPDX-License-Identifier: Apache-2.0

import Divan
import Foundation

// The first program: a database, a document, an edit, a query, and sync.
//
//     swift run GettingStarted                                    the databases lie in ./databases
//     swift run GettingStarted FOLDER
//     swift run GettingStarted FOLDER http://localhost:5984/app   and in sync, until you press Return
let arguments = CommandLine.arguments.dropFirst()

/// Makes a document, edits it, and finds it again.
func useDocuments(in database: Database) throws {
    // The ID is made by the database: a UUID, in the order of making.
    let document = MutableDocument([
        "type": "lesson", "title": "Divan", "language": "Swift", "done": false,
    ])
    try database.save(document)
    print("Document ID :: \(document.id)")

    // What is read is an immutable snapshot of one revision.
    guard let saved = try database.document(withID: document.id) else { return }
    let title = saved.string(forKey: "title") ?? "something"
    let language = saved.string(forKey: "language") ?? "something"
    print("Learning \(title) with \(language)")

    // An update reads, edits and saves, and begins anew when another writer was faster.
    try database.update(document.id) { $0["done"] = true }
    let updated = try database.document(withID: document.id)
    print("Revision :: \(updated?.revisionID ?? "none")")

    // A view is an index that your function makes; a query reads ranges of it.
    let lessons = database.view(named: "lessons")
    lessons.setMap(version: "1") { document, emit in
        if document["type"].string == "lesson" { emit(document["title"], document["done"]) }
    }
    let rows = try lessons.query().run()
    print("Lessons :: \(rows.count), done :: \(rows.count { $0.value == true })")
}

/// Keeps the database and another one the same, both ways, until a line comes in.
func keepInSync(_ database: Database, with address: String) {
    let (push, pull) = database.sync(with: address)
    print("In sync with \(address); press Return to end.")
    _ = readLine()
    for replication in [push, pull] {
        if let error = replication.lastError { print("Sync :: \(error)") }
        replication.stop()
    }
}

// A manager keeps the databases of one folder. "app" is made when it is not there yet.
let manager = try Manager(directory: URL(filePath: arguments.first ?? "databases"))
let database = try manager.database(named: "app")
try useDocuments(in: database)
if let address = arguments.dropFirst().first { keepInSync(database, with: address) }
print("Documents :: \(try database.documentCount)")
manager.close()
