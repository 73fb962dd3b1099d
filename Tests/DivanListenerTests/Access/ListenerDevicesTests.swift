// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import DivanTestSupport
import Synchronization
import Testing

@testable import DivanListener

/// Devices that may be changed while requests come.
private final class TestDevices: ListenerDevices {
    let key: [UInt8]? = nil
    let known = Mutex<[[UInt8]: ListenerDevice]>([:])
    let refusal: PairingRefusal?

    init(_ known: [[UInt8]: ListenerDevice] = [:], refusal: PairingRefusal? = nil) {
        self.refusal = refusal
        self.known.withLock { $0 = known }
    }

    func device(withKey key: [UInt8]) -> ListenerDevice? { known.withLock { $0[key] } }

    func pair(_ request: JSONObject, key: [UInt8], network: String) throws -> JSONObject {
        if let refusal { throw refusal }
        return ["name": "host", "got": .object(request)]
    }

    func greet(_ greeting: JSONObject, key: [UInt8]) -> Bool { greeting["port"] != nil }

    let port = Mutex<UInt16?>(nil)
    var lastPort: UInt16? { port.withLock { $0 } }
    func keep(port: UInt16) { self.port.withLock { $0 = port } }

    func administer(_ action: DeviceAction, at site: DeviceSite) throws(DeviceFailure)
        -> JSONObject
    { throw DeviceFailure(.missing, "It is managed by its test alone.") }
}

/// What devices that are known by their keys may do.
@Suite(.timeLimit(.minutes(10))) struct ListenerDevicesTests {
    private static let key = [UInt8](repeating: 7, count: 32)
    private static let stranger = [UInt8](repeating: 8, count: 32)

    private func site(_ devices: TestDevices) throws -> TestSite {
        let site = try TestSite {
            $0.access = .users(["ann": "secret"])
            $0.devices = devices
        }
        for name in ["notes", "private"] {
            try site.manager.database(named: name).put("a", ["n": 1], parent: nil)
        }
        _ = try site.manager.database(named: "_users")
        return site
    }

    private static func paired() -> TestDevices {
        TestDevices([key: ListenerDevice(name: "device-1", databases: ["notes", "_users"])])
    }

    @Test func `a paired device reads and writes what it shares as a member`() throws {
        let site = try site(Self.paired())
        #expect(site.send("GET", "/notes/a", key: Self.key).status == 200)
        #expect(site.send("PUT", "/notes/b", #"{"n":2}"#, key: Self.key).status == 201)
        #expect(site.send("GET", "/notes/_changes", key: Self.key).status == 200)
        let session = site.send("GET", "/_session", key: Self.key).json
        #expect(session["userCtx"]?["name"]?.string == "device-1")
        #expect(session["info"]?["authenticated"]?.string == "device")
        // Also where the database names its members.
        try SecurityObject.store(
            ["members": ["names": ["ann"], "roles": []]],
            in: site.manager.database(named: "notes"))
        #expect(site.send("GET", "/notes/a", key: Self.key).status == 200)
    }

    @Test func `of all routes it is served those of members, of what it shares and nothing else`()
        throws
    {
        let site = try site(Self.paired())
        try SecurityObject.store(
            ["admins": ["names": ["device-1"], "roles": []]],
            in: site.manager.database(named: "notes"))
        for route in Router.table where route.access != .anyone {
            for database in ["notes", "private", "_users"] {
                let path = route.pattern.split(separator: "/").map { word in
                    switch word {
                    case "{db}": database
                    case "{id}", "{doc}", "{ddoc}", "{name}", "{attachment}": "x"
                    default: String(word)
                    }
                }.joined(separator: "/")
                let isShared =
                    route.pattern.hasPrefix("/{db}") && database == "notes"
                    && route.access == .member
                let answer = site.send(
                    route.method, "/" + path, "{}", ["Content-Type": "application/json"],
                    key: Self.key)
                #expect(
                    (answer.status != 403 && answer.status != 401) == isShared,
                    "\(route.method) /\(path): \(answer.status)")
                let strange = site.send(
                    route.method, "/" + path, "{}", ["Content-Type": "application/json"],
                    key: Self.stranger)
                #expect(strange.status == 401, "\(route.method) /\(path): \(strange.status)")
            }
        }
    }

    @Test func `a device that is revoked is refused at its next request, and its feed ends`() throws
    {
        let devices = Self.paired()
        let site = try site(devices)
        #expect(site.send("GET", "/notes/a", key: Self.key).status == 200)
        var head = RequestHead(
            method: "GET", target: "/notes/_changes?feed=continuous&since=now",
            headers: ["Host": "localhost"])
        head.certificate.key = Self.key
        let response = site.router.respond(ListenerRequest(head))
        guard case .stream(let feed, _) = response.body else {
            Issue.record("A feed is produced in steps.")
            return
        }
        feed.whenReady {}
        for _ in 0..<3 { _ = try feed.next() }
        devices.known.withLock { $0 = [:] }
        try site.manager.database(named: "notes").put("late", ["n": 3], parent: nil)
        #expect(throws: HTTPFailure.self) { try feed.next() }
        feed.cancel()
        #expect(site.send("GET", "/notes/a", key: Self.key).status == 401)
    }

    @Test
    func `a body that ends, and an answer that goes on, after a device was revoked are refused`()
        throws
    {
        let devices = Self.paired()
        let site = try site(devices)
        let notes = try site.manager.database(named: "notes")
        try notes.inBatch {
            for number in 0..<5_000 {
                try notes.put(DocumentID("d\(number)"), ["n": 1], parent: nil)
            }
        }
        func head(_ method: String, _ target: String) -> RequestHead {
            var head = RequestHead(
                method: method, target: target,
                headers: ["Host": "localhost", "Content-Type": "application/json"])
            head.certificate.key = Self.key
            return head
        }
        // Who it is was found out when the head came.
        let put = head("PUT", "/notes/late")
        var late = ListenerRequest(put, body: .bytes(Array(#"{"n":1}"#.utf8)))
        late.identity = site.router.identity(of: put, mayTakeLong: false)
        let list = site.router.respond(ListenerRequest(head("GET", "/notes/_all_docs")))
        guard case .stream(let pieces, _) = list.body else {
            Issue.record("A long list is produced in steps.")
            return
        }
        _ = try pieces.next()
        devices.known.withLock { $0 = [:] }
        #expect(throws: HTTPFailure.self) { try pieces.next() }
        #expect(site.router.respond(late).status == 403)
        #expect(try !notes.contains("late"))
        pieces.cancel()
    }

    @Test func `a name and password go before the key of a device`() throws {
        let site = try site(Self.paired())
        let basic: HTTPHeaders = [
            "Authorization": "Basic " + Base64.encode(Array("ann:secret".utf8))
        ]
        #expect(site.send("GET", "/private/a", "", basic, key: Self.key).status == 200)
        #expect(site.send("GET", "/private/a", key: Self.key).status == 403)
    }

    @Test func `pairing is answered as the devices say, and asks for a certificate`() throws {
        let site = try site(TestDevices())
        let body = #"{"secret":"00","name":"guest"}"#
        #expect(site.send("POST", "/_divan/pair", body).status == 403)
        let answer = site.send("POST", "/_divan/pair", body, key: Self.stranger)
        #expect(answer.status == 200 && answer.json["name"]?.string == "host")
        #expect(site.send("POST", "/_divan/pair", "[]", key: Self.stranger).status == 400)
        let refusals: [(PairingRefusal, Int)] = [
            (.malformed, 400), (.unknownLink, 403), (.expired, 403), (.used, 403),
            (.tooManyGuesses, 429), (.declined, 403),
        ]
        for (refusal, status) in refusals {
            let site = try self.site(TestDevices(refusal: refusal))
            let answer = site.send("POST", "/_divan/pair", body, key: Self.stranger)
            #expect(answer.status == status)
            #expect(answer.json["error"]?.string == refusal.rawValue)
        }
    }

    @Test func `a paired device greets, and no other client does`() throws {
        let site = try site(Self.paired())
        let body = #"{"port":49213}"#
        #expect(site.send("POST", "/_divan/greet", body, key: Self.key).status == 200)
        #expect(site.send("POST", "/_divan/greet", "{}", key: Self.key).status == 404)
        #expect(site.send("POST", "/_divan/greet", "[]", key: Self.key).status == 400)
        #expect(site.send("POST", "/_divan/greet", body, key: Self.stranger).status == 403)
        #expect(site.send("POST", "/_divan/greet", body).status == 403)
    }

    @Test func `a listener without devices neither pairs nor knows keys`() throws {
        let site = try TestSite()
        #expect(site.send("POST", "/_divan/greet", "{}", key: Self.key).status == 404)
        #expect(site.send("POST", "/_divan/pair", "{}", key: Self.key).status == 404)
        var options = ListenerOptions()
        options.devices = Self.paired()
        let listener = Listener(site.manager, options)
        #expect(throws: DatabaseError.self) { try listener.start() }
    }
}
