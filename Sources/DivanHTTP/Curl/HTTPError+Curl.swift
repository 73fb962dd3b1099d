// SPDX-License-Identifier: Apache-2.0

internal import CCurl

extension HTTPError {
    /// Makes an error of what a transfer came to. libcurl's own words go behind the sentence: they name hosts and
    /// ports, and never credentials.
    static func curl(_ result: divan_curl_result, _ words: String, _ url: HTTPURL) -> HTTPError {
        let origin = url.origin
        let detail = words.isEmpty ? "" : " (\(words))"
        func transient(_ code: Code, _ sentence: String) -> HTTPError {
            HTTPError(code, sentence + detail, isTransient: true)
        }
        switch result {
        case DIVAN_CURL_CANNOT_RESOLVE:
            return transient(.cannotResolve, "No address is known for '\(url.host)'.")
        case DIVAN_CURL_CANNOT_RESOLVE_PROXY:
            return transient(.proxyFailed, "No address is known for the proxy.")
        case DIVAN_CURL_CANNOT_CONNECT:
            return transient(.cannotConnect, "\(origin) cannot be reached.")
        case DIVAN_CURL_TIMED_OUT:
            return transient(.timedOut, "\(origin) did not take a connection in time.")
        case DIVAN_CURL_TLS_UNTRUSTED:
            return HTTPError(.untrusted, "The certificate of \(origin) is not trusted.\(detail)")
        case DIVAN_CURL_TLS_PIN_MISMATCH:
            return HTTPError(.untrusted, "\(origin) has another key than the one that was pinned.")
        case DIVAN_CURL_TLS_CLIENT_CERTIFICATE:
            return HTTPError(.tlsFailed, "The client certificate cannot be used.\(detail)")
        case DIVAN_CURL_TLS_FAILED:
            return transient(.tlsFailed, "TLS with \(origin) failed.")
        case DIVAN_CURL_LOST, DIVAN_CURL_TRUNCATED, DIVAN_CURL_EMPTY, DIVAN_CURL_CANNOT_REWIND:
            return transient(
                .connectionLost, "The connection to \(origin) ended before the answer was whole.")
        case DIVAN_CURL_MALFORMED:
            return transient(.malformedAnswer, "The answer from \(origin) is no HTTP.")
        case DIVAN_CURL_PROXY_FAILED: return transient(.proxyFailed, "The proxy refuses.")
        case DIVAN_CURL_BAD_URL: return HTTPError(.invalidRequest, "The URL cannot be used.")
        default: return transient(.other, "The request to \(origin) failed.")
        }
    }
}
