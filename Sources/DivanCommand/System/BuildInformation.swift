// SPDX-License-Identifier: Apache-2.0

internal import CBuildInformation

/// What the program knows of its build.
enum BuildInformation {
    /// The commit that it was built from; empty where the build does not say.
    static var commit: String {
        // SAFETY: a literal of the C module, which ends in zero.
        unsafe String(cString: divan_build_commit())
    }
}
