// SPDX-License-Identifier: Apache-2.0

import Divan

/// A task: one document.
struct TodoTask: DocumentModel {
    static let documentType: String? = "task"

    var identity = ModelIdentity()
    var title: String
    var isDone = false
    /// The list that it is on.
    var list: ModelReference<TodoList>
    /// The name of the device on which it was added.
    var by: String
    /// The name of its picture, which is an attachment of the document.
    var photo: String?
}

/// A list of tasks.
///
/// The ID is made of the name. So two people who both begin a list "Groceries" before they meet have the same list.
struct TodoList: DocumentModel {
    static let documentType: String? = "list"

    var identity: ModelIdentity
    var name: String

    init(named name: String) {
        identity = ModelIdentity(id: "list/\(name)")
        self.name = name
    }
}
