// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON

// The files of the console.
extension Call {
    /// `GET /_utils` and whatever lies below it.
    func consoleFile() throws -> ListenerResponse {
        guard let console = site.options.console else { throw HTTPFailure.noRoute }
        let path = request.head.target.prefix { $0 != "?" }
        if name(0).isEmpty, !path.hasByteSuffix("/") {
            // Its files name each other by where they stand.
            return ListenerResponse(status: 301).with("Location", "\(path)/")
        }
        guard let file = console.file(name(0).isEmpty ? "index.html" : name(0)) else {
            throw HTTPFailure.notFound("The console has no such file.")
        }
        var response = ListenerResponse(status: 200)
        response.headers["Content-Type"] = file.contentType
        response.headers["Cache-Control"] = "no-cache"
        response.headers["Vary"] = "Accept-Encoding"
        for (name, value) in Self.consoleProtection { response.headers[name] = value }
        let isGzipped = file.gzipped != nil && ContentCoding.takesGzip(headers)
        let tag = "\"\(file.tag)\(isGzipped ? "-gzip" : "")\""
        response.headers["ETag"] = tag
        if Self.matches(headers["If-None-Match"], tag) {
            response.status = 304
            return response
        }
        if isGzipped { response.headers["Content-Encoding"] = "gzip" }
        response.body = .bytes((isGzipped ? file.gzipped : nil) ?? file.bytes)
        return response
    }

    /// What keeps a browser from running or loading anything but the files themselves, whatever the documents hold that they
    /// show, and other pages from showing the console in a frame or getting hold of its window.
    private static let consoleProtection: [(String, String)] = [
        (
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
                + "media-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
                + "frame-ancestors 'none'"
        ),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Referrer-Policy", "same-origin"),
        ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "DENY"),
    ]
}
