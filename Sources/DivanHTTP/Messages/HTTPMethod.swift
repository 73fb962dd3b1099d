// SPDX-License-Identifier: Apache-2.0

/// The method of a request.
package struct HTTPMethod: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The method as it is written, such as `GET`; case counts.
    package let rawValue: String

    /// Makes a method of any name.
    package init(rawValue: String) { self.rawValue = rawValue }

    /// Reads without effect.
    package static let get = HTTPMethod(rawValue: "GET")
    /// Reads the head only.
    package static let head = HTTPMethod(rawValue: "HEAD")
    /// Stores under the name given.
    package static let put = HTTPMethod(rawValue: "PUT")
    /// Sends something to be worked on.
    package static let post = HTTPMethod(rawValue: "POST")
    /// Removes.
    package static let delete = HTTPMethod(rawValue: "DELETE")
    /// Copies a document, in CouchDB.
    package static let copy = HTTPMethod(rawValue: "COPY")
    /// Asks what is allowed.
    package static let options = HTTPMethod(rawValue: "OPTIONS")

    /// The method as it is written.
    package var description: String { rawValue }
}
