// SPDX-License-Identifier: Apache-2.0

// The rows of the route table for searches.
extension Router {
    /// All rows of the route table.
    static let table: [Route] = mainTable + searchTable

    static let searchTable: [Route] = [
        // As in CouchDB: a text may be long, and to take it apart costs time.
        .read("GET", "/_search_analyze", .serverAdmin) { try $0.searchAnalyze() },
        .read("POST", "/_search_analyze", .serverAdmin) { try $0.searchAnalyze() }
            .taking(.setting),
        .read("POST", "/_nouveau_analyze", .serverAdmin) { try $0.nouveauAnalyze() }
            .taking(.setting),
        .write("POST", "/{db}/_search_cleanup", .databaseAdmin) { try $0.cleanSearches() },
        .write("POST", "/{db}/_nouveau_cleanup", .databaseAdmin) { try $0.cleanSearches() },
        .read("GET", "/{db}/_design/{ddoc}/_search/{name}") { try $0.search() },
        .read("POST", "/{db}/_design/{ddoc}/_search/{name}") { try $0.search() },
        .read("GET", "/{db}/_design/{ddoc}/_search_info/{name}") { try $0.searchInfo() },
        .read("GET", "/{db}/_design/{ddoc}/_search_disk_size/{name}") { try $0.searchDiskSize() },
        .read("GET", "/{db}/_design/{ddoc}/_nouveau/{name}") { try $0.nouveau() },
        .read("POST", "/{db}/_design/{ddoc}/_nouveau/{name}") { try $0.nouveau() },
        .read("GET", "/{db}/_design/{ddoc}/_nouveau_info/{name}") { try $0.nouveauInfo() },
        .read("GET", "/{db}/_partition/{partition}/_design/{ddoc}/_search/{name}") {
            try $0.search()
        },
        .read("POST", "/{db}/_partition/{partition}/_design/{ddoc}/_search/{name}") {
            try $0.search()
        },
        .read("GET", "/{db}/_partition/{partition}/_design/{ddoc}/_nouveau/{name}") {
            try $0.nouveau()
        },
        .read("POST", "/{db}/_partition/{partition}/_design/{ddoc}/_nouveau/{name}") {
            try $0.nouveau()
        },
    ]
}
