// SPDX-License-Identifier: Apache-2.0

/// The header field by which a Divan asks another one for the digests of attachments as they are stored, by SHA-1.
///
/// Clients of CouchDB get MD5. A Divan that got it would have to leave content unverified that comes in place, and would store
/// content twice that it fetches later, under either name. Other servers pass over the field.
package enum StoredDigests {
    /// The name of the field.
    package static let field = "Divan-Digests"
    /// Its value.
    package static let value = "stored"
}
