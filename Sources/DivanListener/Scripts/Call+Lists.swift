// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanDesign
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

// List functions: the rows of a view as something else.
extension Call {
    /// `GET`, `POST /{db}/_design/{ddoc}/_list/{name}/{view}`, and with the name of another design document before that of
    /// the view
    ///
    /// The rows are those that the view itself would answer with, to this user.
    func list() throws -> ListenerResponse {
        let functions = try functions("lists")
        let isPost = request.head.method == "POST"
        let options = isPost ? try bodyOptions() : [:]
        let body = isPost ? JSONValue.object(options) : try textBody()
        let request = try scriptRequest(id: nil, body: body)
        let hasOther = resource.names.count > 3
        let rows = try rows(
            of: hasOther ? name(3) : name(2), in: hasOther ? name(2) : name(0),
            parameters(options))
        var run = ListRun(functions, rows, site)
        return try run.answer(name(1), request)
    }

    /// The parameters of a list: those in the query count before those in the body.
    private func parameters(_ options: JSONObject) -> QueryParameters {
        var parameters = QueryParameters()
        for (key, value) in options { parameters[key] = Self.parameter(key, value) }
        for (key, value) in query.items { parameters[key] = value }
        return parameters
    }

    private func rows(
        of view: String, in design: String, _ parameters: QueryParameters
    ) throws -> ListingLines {
        guard view == "_all_docs" else {
            return ListingLines(try listing(of: self.view(design, view), parameters))
        }
        let request = try narrowed(AllDocumentsRequest(parameters), by: parameters)
        return ListingLines(AllDocumentsListing(self, request), isOfDocuments: true)
    }
}
