// SPDX-License-Identifier: Apache-2.0

package import DivanDatabase
internal import DivanDesign
package import DivanReplication

extension PeerAuthor {
    /// A paired device, in whose name the rules of a database here are asked about what is pulled from it: they see the user that they
    /// see when the device makes requests, who has no roles.
    ///
    /// - Parameters:
    ///   - user: The name of that user.
    ///   - database: Where it is stored.
    /// - Returns: The author.
    package static func device(_ user: String, at database: Database) -> PeerAuthor {
        let caller = DesignCaller(
            ListenerUser(name: user, method: "device"), database.name, database)
        return PeerAuthor {
            { store in try DesignCaller.$current.withValue(caller) { try store() } }
        }
    }
}
