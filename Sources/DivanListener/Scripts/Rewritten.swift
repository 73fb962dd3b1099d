// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP

/// Says that a request became another one, which the router answers in its place, with all checks.
struct Rewritten: Error {
    /// The other request, of the same user.
    let request: ListenerRequest

    /// Makes another request of a call.
    ///
    /// - Parameters:
    ///   - call: The call.
    ///   - target: Where the request goes.
    ///   - edit: What else is changed.
    /// - Throws: `HTTPFailure` 431 where the target or the header fields are longer than a client's head may be. Else a rule
    ///   that doubles a parameter would do so at each rewriting.
    init(_ call: Call, to target: String, _ edit: (inout ListenerRequest) -> Void = { _ in }) throws
    {
        var request = call.request
        request.head.target = target
        edit(&request)
        let limit = call.site.options.limits.headLength
        let fields = request.head.headers.reduce(0) {
            $0 + $1.name.utf8.count + $1.value.utf8.count
        }
        guard target.utf8.count <= limit, fields <= limit else { throw HTTPFailure.headTooLarge }
        // Whatever the header fields say now.
        request.identity = .known(call.user)
        self.request = request
    }
}

/// The components of a path that a rewriting makes, seen from the design document:
///
///     from /notes/_design/app     a/b           /notes/_design/app/a/b
///                                 ../../a       /notes/a
///                                 ../../../a    /a
struct RewrittenPath {
    /// The components.
    private(set) var components: [String]

    /// The path of a design document.
    init(_ database: String, _ design: String) { components = [database, "_design", design] }

    /// Goes to a component. One dot means nothing, and two go up.
    ///
    /// - Returns: false above the root.
    mutating func follow(_ component: String) -> Bool {
        switch component {
        case "", ".": return true
        case "..": return components.popLast() != nil
        default:
            components.append(component)
            return true
        }
    }

    /// Goes to a component that a client has named, which is a name whatever it looks like.
    mutating func append(_ name: String) { components.append(name) }

    /// The path as a request's target has it.
    var text: String { "/" + components.map(PercentEncoding.encode).joined(separator: "/") }
}
