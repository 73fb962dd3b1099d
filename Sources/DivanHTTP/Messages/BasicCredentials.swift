// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// A name and password as HTTP's basic authentication writes them.
enum BasicCredentials {
    /// The value of the `Authorization` field.
    static func header(_ user: HTTPURL.User) -> String {
        "Basic " + Base64.encode(Array("\(user.name):\(user.password)".utf8))
    }
}
