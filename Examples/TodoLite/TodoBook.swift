// SPDX-License-Identifier: Apache-2.0

import Divan
import Foundation

/// The database: lists, tasks, and the search in their titles. It knows nothing of other devices.
struct TodoBook: Sendable {
    let database: Database
    private let titles: FullTextIndex

    init(_ manager: Manager) throws {
        database = try manager.database(named: "todo")
        titles = database.fullTextIndex(
            named: "titles", on: ["title"],
            options: FullTextOptions(language: .english, documentType: TodoTask.documentType))
    }

    // MARK: - Lists

    /// The list of a name, which is made when there is none.
    func list(named name: String) throws -> TodoList {
        var list = TodoList(named: name)
        if let known = try database.model(TodoList.self, withID: list.id) { return known }
        try database.save(&list)
        return list
    }

    func lists() throws -> [TodoList] {
        try database.models(TodoList.self).sorted { $0.name < $1.name }
    }

    // MARK: - Tasks

    /// The tasks of a list, in the order in which they were made: so are the IDs that the database makes.
    func tasks(in list: TodoList) throws -> [TodoTask] {
        try database.models(TodoTask.self, referringTo: list, by: "list").sorted { $0.id < $1.id }
    }

    /// The tasks whose titles have some words, the best ones first.
    func tasks(with words: String) throws -> [TodoTask] {
        try titles.search(words).run().compactMap { try $0.document?.model() }
    }

    func add(_ title: String, to list: TodoList, by name: String) throws {
        var task = TodoTask(title: title, list: ModelReference(list), by: name)
        try database.save(&task)
    }

    /// Marks a task as done, or as not done. `update` begins anew when the task has changed meanwhile.
    func toggle(_ task: TodoTask) throws {
        try database.update(TodoTask.self, withID: task.id) { $0.isDone = !task.isDone }
    }

    func remove(_ task: TodoTask) throws {
        try database.delete(task.id)
    }

    // MARK: - Photos

    /// Attaches a picture to a task. Property and picture are saved in one revision.
    func attach(_ file: URL, to task: TodoTask) throws {
        let name = file.lastPathComponent
        guard FileManager.default.isReadableFile(atPath: file.path) else {
            throw TodoError("There is no file '\(file.relativePath)' that can be read.")
        }
        try database.update(task.id) { document in
            document.setAttachment(
                named: name, contentType: Self.contentType(of: file), .file(file))
            document["photo"] = Fragment(name)
        }
    }

    /// Saves the picture of a task as a file, and returns the file.
    func savePhoto(of task: TodoTask, in folder: URL) throws -> URL {
        guard let name = task.photo,
            let photo = try database.document(withID: task.id)?.attachment(named: name)
        else { throw TodoError("'\(task.title)' has no photo; attach one with: photo N FILE") }
        // Another device gave it its name, so no more than a file name in this folder is taken from it.
        let file = folder.appending(path: FileName.safe(name, in: folder))
        try Data(photo.content()).write(to: file, options: .withoutOverwriting)
        return file
    }

    private static func contentType(of file: URL) -> String {
        switch file.pathExtension.lowercased() {
        case "jpg", "jpeg": "image/jpeg"
        case "png": "image/png"
        case "gif": "image/gif"
        case "svg": "image/svg+xml"
        default: "application/octet-stream"
        }
    }
}
