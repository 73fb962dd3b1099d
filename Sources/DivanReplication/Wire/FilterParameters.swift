// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
package import DivanJSON

/// The parameters of a filter, on their way to where it runs.
///
/// They stand in the query of `_changes`, beside what the feed itself is asked:
///
/// ```
/// GET /notes/_changes?feed=normal&style=all_docs&since=7&filter=app/least&min=7&name=ann
/// Divan-JSON-Parameters: min
/// ```
///
/// So a parameter cannot have a name of the feed: `since` would have it begin elsewhere, and pass over documents. And
/// in a query everything is text, so a Divan says which values are none, and a filter of the app gets them
/// as it does in process. JavaScript gets texts in any case, as CouchDB gives them.
package enum FilterParameters {
    /// The header field that names the parameters whose values are JSON.
    package static let typedField = "Divan-JSON-Parameters"

    /// What servers read in the query of `_changes`, CouchDB whatever the case of its letters. `view` is not among them:
    /// only the filter `_view` reads it.
    private static let namesOfFeed: NameSet = [
        "active_only", "att_encoding_info", "attachments", "callback", "conflicts", "descending",
        "doc_ids", "feed", "filter", "heartbeat", "include_docs", "last-event-id", "limit",
        "seq_interval", "since", "style", "timeout",
    ]

    /// Why parameters cannot be sent; nil when they can.
    package static func problem(_ parameters: JSONObject) -> String? {
        let taken = parameters.map(\.key).first { namesOfFeed.contains($0.lowercased()) }
        return taken.map {
            "The parameter '\($0)' of a filter has a name that the changes feed uses itself, and would change "
                + "what is read; give it another name."
        }
    }

    /// Refuses parameters that cannot be sent, wherever the filter runs.
    ///
    /// - Throws: `ReplicationError` with code `.invalidSetting`.
    static func check(_ parameters: JSONObject) throws {
        if let problem = problem(parameters) { throw ReplicationError(.invalidSetting, problem) }
    }

    /// The names of the parameters that are no texts, as the header field has them; nil where there are none.
    static func typedNames(_ parameters: JSONObject) -> String? {
        let names = parameters.filter { $0.value.string == nil }.map {
            PercentEncoding.encode($0.key)
        }
        return names.isEmpty ? nil : names.joined(separator: ",")
    }

    /// Makes values of a query again what they were where they came from.
    ///
    /// - Parameters:
    ///   - parameters: The parameters as texts. One that is no JSON stays as it is.
    ///   - field: The header field that names those that are JSON; nil for none.
    package static func restoreTypes(of parameters: inout JSONObject, naming field: String?) {
        for item in (field ?? "").split(separator: ",") {
            guard let name = PercentEncoding.decode(item), let text = parameters[name]?.string,
                let value = try? JSONParser.parse(text)
            else { continue }
            parameters[name] = value
        }
    }
}
