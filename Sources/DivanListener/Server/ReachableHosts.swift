// SPDX-License-Identifier: Apache-2.0

internal import DivanSystem

/// The names under which clients reach an address that is listened on.
enum ReachableHosts {
    /// The hosts of URLs for a listener, an IPv6 address in brackets.
    ///
    /// On all interfaces these are the addresses that another device can use, IPv4 first: not the loopback, and
    /// those of one network only where there are no others. A machine without a network has its loopback.
    ///
    /// - Parameters:
    ///   - host: What is listened on.
    ///   - interfaces: The addresses of this machine.
    /// - Returns: At least one host.
    static func of(_ host: String, _ interfaces: [InterfaceAddress]) -> [String] {
        guard isAll(host) else { return [inURL(host)] }
        // A socket on `0.0.0.0` takes no IPv6; one on `::` takes both.
        let usable = interfaces.filter { !$0.isLoopback && (!$0.isIPv6 || host != "0.0.0.0") }
        let wide = usable.filter { !$0.isLinkLocal }
        let chosen = wide.isEmpty ? usable : wide
        let ordered = chosen.filter { !$0.isIPv6 } + chosen.filter(\.isIPv6)
        return ordered.isEmpty ? ["127.0.0.1"] : ordered.map { inURL($0.text) }
    }

    /// All that a listener may be called, the loopback too.
    static func all(_ host: String, _ interfaces: [InterfaceAddress]) -> [String] {
        let hosts = of(host, interfaces)
        return isAll(host) ? ["127.0.0.1", "[::1]"] + hosts.filter { $0 != "127.0.0.1" } : hosts
    }

    /// Whether a host stands for all interfaces.
    private static func isAll(_ host: String) -> Bool { ["0.0.0.0", "::", ""].contains(host) }

    /// A host as it stands in a URL.
    private static func inURL(_ host: String) -> String {
        guard host.contains(":") else { return host }
        // The sign before an interface's name is one that URLs encode.
        return "[\(host.split(separator: "%", maxSplits: 1).joined(separator: "%25"))]"
    }
}
