// SPDX-License-Identifier: Apache-2.0

/// A difference between Divan and CouchDB that is meant to be, and why.
///
/// Each is listed in docs/replication.md or docs/listener.md as well. A star in a text stands for anything.
struct Explanation {
    /// The part that sees it.
    var part: String
    /// The document, or the request.
    var subject: String
    /// What of it differs.
    var facet: String
    var reason: String

    init(_ part: String, _ subject: String, _ facet: String, _ reason: String) {
        self.part = part
        self.subject = subject
        self.facet = facet
        self.reason = reason
    }

    /// Why a difference is meant to be; nil when it is not. Two listeners must not differ at all.
    static func reason(for difference: Difference, isDivan: Bool) -> String? {
        guard !isDivan else { return nil }
        return all.first {
            matches($0.part, difference.part) && matches($0.subject, difference.subject)
                && matches($0.facet, difference.facet)
        }?.reason
    }

    /// Whether a text is what a pattern says, in which each star stands for anything.
    private static func matches(_ pattern: String, _ text: String) -> Bool {
        matches(Array(pattern.utf8)[...], Array(text.utf8)[...])
    }

    private static func matches(_ pattern: ArraySlice<UInt8>, _ text: ArraySlice<UInt8>) -> Bool {
        guard let first = pattern.first else { return text.isEmpty }
        if first == UInt8(ascii: "*") {
            return text.indices.contains { matches(pattern.dropFirst(), text[$0...]) }
                || matches(pattern.dropFirst(), [])
        }
        return text.first == first && matches(pattern.dropFirst(), text.dropFirst())
    }
}

extension Explanation {
    static let all = documents + remade + requests

    /// Documents that are deleted and made again while they are edited at random.
    private static let remade = [
        ("attachments", "d"), ("continuous", "c*"), ("kills", "k*"),
    ].map { part, subject in
        Explanation(
            part, subject, "revpos of *",
            "CouchDB says of an attachment that makes a deleted document again that it came with the first revision; "
                + "a listener keeps the one with which it came.")
    }

    private static let documents = [
        Explanation("documents", "number -0.0", "body", "CouchDB takes -0.0 for 0.0."),
        Explanation(
            "documents", "number *5e-324", "body", "CouchDB takes the smallest numbers for 0.0."),
        Explanation(
            "documents", "number 1e-320", "body", "CouchDB takes the smallest numbers for 0.0."),
        Explanation(
            "documents", "revision in capitals", "*",
            "CouchDB keeps a digest of 32 hexadecimal digits in lower case."),
        Explanation(
            "*", "attachment* revpos 0 *", "revpos of *",
            "An attachment that came with no revision (revpos 0) is taken to have come with the one that has it."
        ),
        Explanation(
            "filters", "a+b", "is missing",
            "CouchDB's replicator decodes `doc_ids` as if they stood in a URL."),
        Explanation(
            "refused", "refused: *1e400*", "ends the server's replication",
            "CouchDB's replicator ends at a number that it cannot read."),
    ]

    private static let requests = [
        Explanation(
            "requests", "*", "status 400 500", "CouchDB fails at some requests that make no sense."),
        Explanation(
            "requests", "GET ", "/*", "A database says some things of itself that CouchDB does not."
        ),
        Explanation(
            "requests", "GET _security", "/*",
            "A database without members is for signed-in users, in CouchDB 3 for admins."),
        Explanation(
            "requests", "*", "*/length", "The length of an attachment stands beside its data, too."),
        Explanation(
            "requests", "*seq_interval=4", "*/seq",
            "`seq_interval` means nothing: each row has its sequence."),
        Explanation(
            "requests", "GET _changes?limit=-1", "status 400 200", "A limit is not negative."),
        Explanation(
            "requests", "GET _changes?filter=wrong", "status 404 400",
            "A filter of the app may have any name."),
        Explanation(
            "requests", "POST _changes?filter=_selector*$strange*", "/error",
            "A selector that makes no sense has another name of its error."),
        Explanation(
            "requests", "POST _revs_diff*", "*/possible_ancestors",
            "Of each missing revision those are told that may be its ancestors, leaves or not."),
        Explanation(
            "requests", "POST _revs_diff*0A0A*", "/hexadecimal",
            "CouchDB keeps a digest of 32 hexadecimal digits in lower case."),
        Explanation(
            "requests", "POST _bulk_get*", "status 200 500",
            "An item that makes no sense has an error in its place."),
        Explanation(
            "requests", "POST _revs_diff*wrong*", "status 200 400",
            "What can be no revision is told as missing, so that it is sent and refused by its name."
        ),
        Explanation(
            "requests", "POST _bulk_get*_local/x*", "*/error",
            "`_local` documents are not part of what `_bulk_get` gives; the error is another one."),
        Explanation(
            "requests", "GET edited?open_revs=%5B%5D", "/",
            "No revisions are asked for, and none are given."),
        Explanation(
            "requests", "GET _changes?include_docs=true&att_encoding_info=true", "*/encod*",
            "CouchDB compresses text, Divan keeps it as it came."),
        Explanation(
            "requests", "GET compressed*", "*",
            "CouchDB compresses text, Divan keeps it as it came."),
        Explanation(
            "requests", "GET _local/c?revs=true", "/_revisions",
            "`_local` documents have no history."),
        Explanation(
            "requests", "POST _bulk_docs*", "status 201 400",
            "What is wrong with one document is told of it, and the others are stored."),
        Explanation(
            "requests", "POST _bulk_docs*", "status 201 412",
            "What is wrong with one document is told of it, and the others are stored."),
        Explanation(
            "requests", "PUT s8?rev=1-a*", "status 409 201",
            "An edit of a revision that is not there is a conflict, also of a document that is not there."
        ),
        Explanation(
            "requests", "PUT s9*", "status 409 201",
            "An edit of a revision that is not there is a conflict, also of a document that is not there."
        ),
    ]
}
