// SPDX-License-Identifier: Apache-2.0

// Settings of replications name types of the wire: how servers are trusted, proxies, client certificates.
@_exported public import DivanHTTP
