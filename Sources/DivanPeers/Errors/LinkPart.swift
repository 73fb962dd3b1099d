// SPDX-License-Identifier: Apache-2.0

/// A part of a peer link that may be damaged, and what is then wrong.
enum LinkPart: String {
    case characters = "it has characters that a link does not contain"
    case fragment = "its end is missing"
    case port = "its port is not a number from 1 to 65535"
    case addresses = "its addresses are not 1 to 8 of IPv4 or IPv6 or names"
    case names = "its database or its user has no valid name"
    case certificate = "its certificate is not 32 bytes"
    case secret = "its secret is not 16 bytes"
    case end = "its time is not ten digits"
    case repetition = "a parameter stands there twice, or is encoded wrongly"
}
