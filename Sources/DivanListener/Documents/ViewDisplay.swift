// SPDX-License-Identifier: Apache-2.0

/// What the answer of a view shows beside the keys and values of its rows, and of which rows.
struct ViewDisplay: Sendable {
    /// How documents are shown; nil when they are not wanted.
    var format: DocumentFormat?
    /// Whether to tell how many rows there are, and behind how many of them these stand.
    var showsTotals: Bool
    /// Whether to tell up to which change the index goes.
    var showsSequence: Bool
    /// What the keys of rows must meet, which are geometries then; nil for all rows.
    var box: BoundingBox?

    /// Reads it from parameters.
    ///
    /// - Parameters:
    ///   - parameters: The parameters.
    ///   - site: The listener, which bounds the documents that are shown at once.
    /// - Throws: `HTTPFailure` 400 when one of them is malformed.
    init(_ parameters: QueryParameters, _ site: Site) throws {
        box = try parameters["bbox"].map(BoundingBox.init)
        showsSequence = try parameters.flag("update_seq")
        // As in CouchDB, which then counts nothing; rows are sorted all the same.
        showsTotals = try parameters.flag("sorted", default: true) && box == nil
        guard try parameters.flag("include_docs") else { return }
        var format = DocumentFormat()
        format.budget = site.longDocuments
        format.conflicts = try parameters.flag("conflicts")
        format.showsEncoding = try parameters.flag("att_encoding_info")
        if try parameters.flag("attachments") { format.attachments = .inline }
        self.format = format
    }
}
