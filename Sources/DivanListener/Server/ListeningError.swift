// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanSystem

extension DatabaseError {
    /// The error of a listener that cannot have its address or its port.
    static func cannotListen(_ host: String, _ port: UInt16, _ error: SystemError) -> DatabaseError
    {
        let reason =
            if error.operation == ListeningSocket.lookUp {
                "is no address of this machine"
            } else if error.isAddressInUse {
                "is in use"
            } else {
                "cannot be listened on"
            }
        return DatabaseError(
            .io,
            "The listener cannot start: '\(host)', port \(port), \(reason); choose another one.")
    }
}
