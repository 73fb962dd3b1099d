// SPDX-License-Identifier: Apache-2.0

package import DivanJSON

/// For whom functions of design documents are called: CouchDB's `userCtx` and `secObj`.
///
/// Without one it is the app itself, which may do everything.
package struct DesignCaller: Sendable {
    /// The caller of the code that runs, if it is not the app.
    @TaskLocal package static var current: DesignCaller?

    /// `{"db": …, "name": …, "roles": […]}`
    package var user: JSONObject
    /// Reads the security object of the database.
    package var security: @Sendable () throws -> JSONObject

    /// Makes a caller.
    package init(user: JSONObject, security: @escaping @Sendable () throws -> JSONObject) {
        self.user = user
        self.security = security
    }

    /// The app, for a database of a name.
    package static func app(_ database: String) -> DesignCaller {
        DesignCaller(
            user: ["db": .string(database), "name": .null, "roles": ["_admin"]]
        ) { [:] }
    }
}
