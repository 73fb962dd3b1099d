// SPDX-License-Identifier: Apache-2.0

/// The names of the header fields by which a proxy in front says what its client called.
struct ForwardedFields: Sendable {
    /// The host, with its port where it has one.
    var host = "X-Forwarded-Host"
    /// The scheme.
    var scheme = "X-Forwarded-Proto"
    /// `on` where the client came over TLS.
    var ssl = "X-Forwarded-Ssl"

    /// The usual ones.
    init() {}

    /// Those of a configuration, and the usual ones where it names none.
    init(_ table: ConfigurationTable) {
        let section = ConfigurationTable.server
        host = table.field("x_forwarded_host", in: section) ?? host
        scheme = table.field("x_forwarded_proto", in: section) ?? scheme
        ssl = table.field("x_forwarded_ssl", in: section) ?? ssl
    }
}
