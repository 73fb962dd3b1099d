// SPDX-License-Identifier: Apache-2.0

public import DivanHTTP
public import FoundationEssentials

extension TrustPolicy {
    /// Servers that show the certificate that they showed at the first contact; see `KnownHosts`.
    ///
    /// ```swift
    /// database.sync(with: url) { $0.trust = .trustOnFirstUse(keptAt: folder.appending(path: "known-hosts")) }
    /// ```
    ///
    /// - Parameter file: Where the certificates are kept; it is made at the first contact, in a folder that exists.
    /// - Returns: The policy.
    public static func trustOnFirstUse(keptAt file: URL) -> TrustPolicy {
        .firstUse(KnownHosts(path: file.path(percentEncoded: false)))
    }
}
