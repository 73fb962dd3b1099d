// SPDX-License-Identifier: Apache-2.0

internal import CCurl
internal import DivanJSON
internal import DivanSystem

/// What libcurl is told of one request: the request itself, and the transport's options.
struct CurlSettings: Sendable {
    private let request: HTTPRequest
    private let options: CurlTransport.Options
    private let connectTimeout: Duration

    init(_ request: HTTPRequest, _ options: CurlTransport.Options, timeouts: HTTPTimeouts) {
        self.request = request
        self.options = options
        connectTimeout = timeouts.connect
    }

    /// Sets everything; answers what is wrong with it.
    func apply(to handle: CurlHandle) -> HTTPError? {
        guard handle.set(DIVAN_CURL_URL, request.url.description),
            handle.set(DIVAN_CURL_METHOD, request.method.rawValue)
        else { return HTTPError(.invalidRequest, "The URL or method cannot be used.") }
        handle.set(DIVAN_CURL_CONNECT_TIMEOUT_MS, max(connectTimeout.milliseconds, 1))
        handle.set(DIVAN_CURL_ALLOW_HTTP2, options.allowsHTTP2 ? 1 : 0)
        if let interface = options.interface {
            // The prefix keeps libcurl from taking the name for a host's.
            guard handle.set(DIVAN_CURL_INTERFACE, "if!" + interface) else {
                return HTTPError(.invalidRequest, "The network interface cannot be used.")
            }
        }
        applyBody(to: handle)
        return applyHeaders(to: handle) ?? applyProxy(to: handle) ?? applyTrust(to: handle)
            ?? applyClientCertificate(to: handle)
    }

    private func applyBody(to handle: CurlHandle) {
        switch request.body {
        case .none where request.method == .put || request.method == .post:
            handle.set(DIVAN_CURL_UPLOAD, 1)
            handle.set(DIVAN_CURL_UPLOAD_LENGTH, 0)
        case .none:
            if request.method == .head { handle.set(DIVAN_CURL_NO_BODY, 1) }
        case .bytes(let bytes):
            handle.set(DIVAN_CURL_UPLOAD, 1)
            handle.set(DIVAN_CURL_UPLOAD_LENGTH, bytes.count)
        case .stream(let length, _):
            handle.set(DIVAN_CURL_UPLOAD, 1)
            handle.set(DIVAN_CURL_UPLOAD_LENGTH, length ?? -1)
        }
    }

    private func applyHeaders(to handle: CurlHandle) -> HTTPError? {
        for field in request.headers {
            guard HTTPHeaders.isName(field.name) else { return .invalidHeader(field.name) }
            // A field with an empty value is written with a semicolon, or libcurl would leave it out.
            let line = field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)"
            guard handle.add(header: line) else { return .invalidHeader(field.name) }
        }
        // A body is sent at once: asking first costs a round trip, and old servers do not answer.
        guard request.headers["Expect"] != nil || handle.add(header: "Expect:") else {
            return .invalidHeader("Expect")
        }
        return nil
    }

    private func applyProxy(to handle: CurlHandle) -> HTTPError? {
        let failure = HTTPError(.invalidRequest, "The proxy cannot be used.")
        switch options.proxy {
        case .environment: return nil
        case .none: return handle.set(DIVAN_CURL_PROXY, "") ? nil : failure
        case .server(let address, let user):
            guard handle.set(DIVAN_CURL_PROXY, address), handle.set(DIVAN_CURL_NO_PROXY, "") else {
                return failure
            }
            guard let user else { return nil }
            let isSet =
                handle.set(DIVAN_CURL_PROXY_USER, user.name)
                && handle.set(DIVAN_CURL_PROXY_PASSWORD, user.password)
            return isSet ? nil : failure
        }
    }

    private func applyTrust(to handle: CurlHandle) -> HTTPError? {
        let failure = HTTPError(.untrusted, "The certificates or keys to trust cannot be used.")
        switch options.trust {
        case .system: return nil
        case .anchors(let pem, let only):
            if only { handle.clear(DIVAN_CURL_CA_FOLDER) }
            return handle.set(DIVAN_CURL_ANCHORS, Array(pem.utf8)) ? nil : failure
        case .pinnedCertificates(let certificates):
            let keys = certificates.compactMap { CertificatePin.sha256(ofKeyIn: $0) }
            guard keys.count == certificates.count else { return failure }
            return pin(keys, validates: false, handle) ? nil : failure
        case .pinnedKeys(let keys, let validates):
            return pin(keys, validates: validates, handle) ? nil : failure
        case .fingerprints(let texts):
            let pins = texts.compactMap(CertificateFingerprint.normalized)
            guard !pins.isEmpty, pins.count == texts.count else { return failure }
            return judge(handle) { pins.contains($0.fingerprint) ? nil : .otherFingerprint($0) }
        case .firstUse(let known):
            let place = "\(request.url.host):\(request.url.port)"
            return judge(handle) { known.refusal(of: place, showing: $0.fingerprint) }
        case .decision(let decision):
            return judge(handle) { decision.decide($0) ? nil : .distrusted($0) }
        }
    }

    private func judge(_ handle: CurlHandle, _ judge: @escaping (ServerTrust) -> HTTPError?)
        -> HTTPError?
    {
        handle.setTrust(of: request.url, judge)
            ? nil : HTTPError(.untrusted, "The TLS library of libcurl cannot ask whom to trust.")
    }

    private func pin(_ keys: [[UInt8]], validates: Bool, _ handle: CurlHandle) -> Bool {
        // Without a key nothing would be checked at all.
        guard !keys.isEmpty, keys.allSatisfy({ $0.count == 32 }) else { return false }
        if !validates {
            handle.set(DIVAN_CURL_VERIFY_PEER, 0)
            handle.set(DIVAN_CURL_VERIFY_HOST, 0)
        }
        return handle.set(DIVAN_CURL_PINNED_KEYS, CertificatePin.text(keys))
    }

    private func applyClientCertificate(to handle: CurlHandle) -> HTTPError? {
        guard let certificate = options.clientCertificate else { return nil }
        let isSet =
            handle.set(DIVAN_CURL_CERTIFICATE, Array(certificate.certificate.utf8))
            && handle.set(DIVAN_CURL_KEY, Array(certificate.key.utf8))
            && certificate.password.map { handle.set(DIVAN_CURL_KEY_PASSWORD, $0) } ?? true
        return isSet ? nil : HTTPError(.tlsFailed, "The client certificate cannot be used.")
    }
}

extension Duration {
    /// The time in whole milliseconds.
    var milliseconds: Int {
        Int(clamping: boundedMilliseconds)
    }
}
