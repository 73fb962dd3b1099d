// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase

extension QueryRow {
    /// The row's document as a value of the app's own type; nil when the row has none, or the document is deleted.
    ///
    /// ```swift
    /// let todos = try tasks.query(.keys("todo")).run().compactMap { try $0.model(Todo.self) }
    /// ```
    ///
    /// - Parameter type: The type.
    /// - Returns: The model.
    /// - Throws: As ``document()`` and `Document.model(_:)`.
    public func model<Model: DocumentModel>(_ type: Model.Type = Model.self) throws -> Model? {
        try document()?.model(type)
    }
}

extension FindRow {
    /// The document as a value of the app's own type, whichever properties the query wants.
    ///
    /// - Parameter type: The type.
    /// - Returns: The model.
    /// - Throws: As `Document.model(_:)`.
    public func model<Model: DocumentModel>(_ type: Model.Type = Model.self) throws -> Model {
        try document.model(type)
    }
}
