// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON

extension Call {
    /// `GET /{db}/_time_seq`: how many changes were made from which time on; one node has them all.
    ///
    /// Where the app hides documents, nothing is told: the counts would be of hidden ones, too.
    func timeSequence() throws -> ListenerResponse {
        let database = try database
        let bins =
            try hidesDocuments
            ? [] : site.times.bins(of: database).counts(until: database.lastSequence)
        let items = bins.map { bin -> JSONValue in
            [.string(HTTPDate.iso(bin.time)), JSONValue(bin.count)]
        }
        return .json([
            "time_seq": ["00000000-ffffffff": .object([site.options.nodeName: .array(items)])]
        ])
    }

    /// `DELETE /{db}/_time_seq`
    func resetTimeSequence() throws -> ListenerResponse {
        try site.times.reset(database)
        return .done()
    }
}
