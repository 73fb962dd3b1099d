// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanSystem

// Keeping cookies from one run of an app to the next.
extension HTTPCookieJar {
    /// The cookies that outlive a session, as a text for the app to keep where it keeps secrets.
    ///
    /// ```swift
    /// keychain.cookies = jar.archive
    /// let jar = HTTPCookieJar(archive: keychain.cookies)      // the next time
    /// ```
    ///
    /// Cookies that end with the session are in it, too, as a browser that goes on where it was keeps them.
    public var archive: String { archive(at: WallClock.secondsSince1970) }

    /// Makes a jar of what ``archive`` gave; what is none gives an empty jar. Cookies that have ended meanwhile, by the
    /// system's date, are left out.
    public convenience init(archive text: String) {
        self.init(archive: text, at: WallClock.secondsSince1970)
    }

    /// See ``archive``; the time is in seconds since 1970.
    package func archive(at now: Int64) -> String {
        let cookies = all.map { cookie -> JSONValue in
            var json: JSONObject = [
                "name": .string(cookie.name), "value": .string(cookie.value),
                "domain": .string(cookie.domain), "path": .string(cookie.path),
                "subdomains": .bool(cookie.includesSubdomains), "secure": .bool(cookie.isSecure),
            ]
            json["left"] = cookie.deadline.map {
                .integer(ContinuousClock.now.duration(to: $0).components.seconds)
            }
            return .object(json)
        }
        return JSONWriter.string(["saved": .integer(now), "cookies": .array(cookies)])
    }

    /// See ``init(archive:)``.
    package convenience init(archive text: String, at now: Int64) {
        let json = try? JSONParser.parse(text)
        // A date that was put back is none that has passed.
        let gone = max(0, now.subtractingSaturated(json?["saved"]?.int64 ?? now))
        var cookies: [Cookie] = []
        for item in json?["cookies"]?.array ?? [] {
            guard let name = item["name"]?.string, let value = item["value"]?.string,
                let domain = item["domain"]?.string
            else { continue }
            var cookie = Cookie(name: name, value: value, domain: domain)
            cookie.path = item["path"]?.string ?? "/"
            cookie.includesSubdomains = item["subdomains"]?.bool ?? false
            cookie.isSecure = item["secure"]?.bool ?? false
            if let left = item["left"]?.int64 {
                guard left > gone else { continue }
                cookie.deadline = .now + .seconds(left.subtractingSaturated(gone))
            }
            cookies.append(cookie)
        }
        self.init(cookies)
    }
}
