// SPDX-License-Identifier: Apache-2.0

import DivanPeers
import DivanTestSupport
import Foundation
import Testing

struct PeerLinkTests {
    @Test func `a link is written in its form, and read back`() throws {
        let link = try SampleLink.make()
        #expect(link.text == SampleLink.text)
        #expect(try PeerLink(SampleLink.text) == link)
        let full = try SampleLink.make(
            ["fd00::7", "192.168.1.7", "anns-laptop.local"], port: 443, database: "a/b",
            user: "Zo\u{EB}")
        #expect(
            full.text
                == "divan://[fd00::7]:443/a%2Fb#1&a=192.168.1.7,anns-laptop.local&u=Zo%C3%AB"
                + SampleLink.text.dropFirst("divan://192.168.1.7:49213/notes#1".count))
        #expect(try PeerLink(full.text) == full)
    }

    @Test func `a link tells what a replication needs`() throws {
        let link = try PeerLink(
            SampleLink.make(["192.168.1.7", "fd00::7"], database: "a/b", user: "ann").text)
        #expect(link.endpoint.addresses == ["192.168.1.7", "fd00::7"])
        #expect(link.endpoint.port == 49_213)
        #expect(link.endpoint.fingerprint == SampleLink.fingerprint)
        #expect(link.database == "a/b" && link.user == "ann")
        #expect(link.invitation.secret.bytes == SampleLink.secret)
        #expect(link.invitation.expires == Date(timeIntervalSince1970: 1_795_711_385))
        #expect(
            link.urls == ["https://192.168.1.7:49213/a%2Fb", "https://[fd00::7]:49213/a%2Fb"])
    }

    @Test func `random links are read back as they were`() throws {
        for round in Soak.rounds(test: 500, soak: 200_000) {
            var random = Soak.random(round: round, salt: 0x114C)
            let link = try SampleLink.random(&random)
            #expect(try PeerLink(link.text) == link, "round \(round)")
            #expect(try PeerLink(link.text).text == link.text, "round \(round)")
        }
    }

    @Test func `a link is a URI whose fragment alone has the secret`() throws {
        for round in Soak.rounds(test: 100, soak: 10_000) {
            var random = Soak.random(round: round, salt: 0x0513)
            let link = try SampleLink.random(&random)
            let parts = try #require(
                URLComponents(string: link.text, encodingInvalidCharacters: false), "round \(round)"
            )
            #expect(parts.scheme == "divan" && parts.port == link.endpoint.port)
            #expect(parts.path == "/" + link.database)
            let fragment = try #require(parts.percentEncodedFragment)
            let secret = try #require(fragment.split(separator: "&s=").last?.prefix(22))
            #expect(link.text.ranges(of: secret).count == 1)
            #expect(link.text.last?.isNumber == true)
            #expect(link.text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
        }
    }

    @Test func `the code of a usual link has version 7 at most`() throws {
        // The longest address of IPv4, and the longest port.
        let longest = try SampleLink.make(["192.168.178.123"], port: 65_535)
        #expect(longest.text.utf8.count == 121)
        #expect(try longest.qrCode().side == 41)
        #expect(try longest.qrCode(correction: .medium).side == 45)
        let two = try SampleLink.make(["192.168.178.123", "192.168.100.100"], port: 65_535)
        #expect(try two.qrCode().side == 45)
    }

    @Test func `order, case, spaces around, and what is unknown make no difference`() throws {
        let link = try SampleLink.make(["192.168.1.7", "fd00::7"], user: "ann")
        let pieces = link.text.split(separator: "&").map(String.init)
        let head = pieces[0]
        for text in [
            ([head] + pieces.dropFirst().reversed()).joined(separator: "&"),
            link.text.replacing("divan://", with: "Divan://"),
            "\n\t " + link.text + " \r\n",
            link.text + "&z=new&flag&=&&b=",
            link.text.replacing("#1", with: "?utm_source=chat&c=x#1&cc=&S=x"),
            link.text.replacing("fd00::7", with: "FD00:0::0007"),
            link.text.replacing("fd00::7", with: "fd00%3A%3A7"),
            link.text.replacing("192.168.1.7:", with: "192.168.1.7:")
                .replacing("&a=", with: "&a=192.168.1.7,"),
        ] {
            #expect(try PeerLink(text) == link, "\(text)")
        }
    }

    @Test func `a link that is cut off anywhere is refused`() throws {
        let text = try SampleLink.make(["192.168.1.7", "fd00::7"], user: "ann").text
        for count in 0..<text.count {
            let error = #expect(throws: PeerError.self) { try PeerLink(String(text.prefix(count))) }
            #expect(error?.code == .invalidLink, "\(count)")
        }
    }

    @Test(arguments: [
        ("http://192.168.1.7", "no peer link"), ("divan:", "no peer link"), ("", "no peer link"),
        ("divan://192.168.1.7:49213/notes", "end is missing"),
        (SampleLink.text.replacing("#1", with: "#one"), "end is missing"),
        (SampleLink.text.replacing("#1", with: "#01"), "end is missing"),
        (SampleLink.text + "#", "end is missing"),
        (SampleLink.text.replacing("&c", with: " &c"), "characters"),
        (SampleLink.text + "\u{200B}", "characters"),
        (SampleLink.text.replacing("notes", with: "caf\u{E9}"), "characters"),
        (SampleLink.text.replacing(":49213", with: ""), "port"),
        (SampleLink.text.replacing("49213", with: "0"), "port"),
        (SampleLink.text.replacing("49213", with: "65536"), "port"),
        (SampleLink.text.replacing("49213", with: "+443"), "port"),
        (SampleLink.text.replacing("49213", with: "0443"), "port"),
        (SampleLink.text.replacing("192.168.1.7", with: ""), "addresses"),
        (SampleLink.text.replacing("192.168.1.7", with: "0.0.0.0"), "addresses"),
        (SampleLink.text.replacing("192.168.1.7", with: "ann@192.168.1.7"), "addresses"),
        (SampleLink.text.replacing("192.168.1.7", with: "fd00::7"), "addresses"),
        (SampleLink.text.replacing("192.168.1.7", with: "[192.168.1.7]"), "addresses"),
        (SampleLink.text.replacing("192.168.1.7", with: "[fe80::1%25eth0]"), "addresses"),
        (SampleLink.text + "&a=", "addresses"), (SampleLink.text + "&a=10.0.0.1,", "addresses"),
        (
            SampleLink.text + "&a=" + (1...8).map { "10.0.0.\($0)" }.joined(separator: ","),
            "addresses"
        ),
        (SampleLink.text.replacing("/notes", with: ""), "database"),
        (SampleLink.text.replacing("/notes", with: "/"), "database"),
        (SampleLink.text.replacing("/notes", with: "/notes/"), "database"),
        (SampleLink.text.replacing("/notes", with: "/_users"), "database"),
        (SampleLink.text.replacing("/notes", with: "/..%2Fnotes"), "database"),
        (SampleLink.text.replacing("/notes", with: "/notes%0A"), "database"),
        (SampleLink.text.replacing("/notes", with: "/notes%4"), "database"),
        (SampleLink.text + "&u=", "user"), (SampleLink.text + "&u=a%3Ab", "user"),
        (SampleLink.text + "&u=%1B%5B2J", "user"),
        (SampleLink.text + "&u=" + String(repeating: "u", count: 201), "user"),
        (SampleLink.text + "&u=a&u=a", "twice"), (SampleLink.text + "&u=%FF", "encoded wrongly"),
        (SampleLink.text + "&s=AAAAAAAAAAAAAAAAAAAAAA", "twice"),
        (SampleLink.text.replacing("&c=P", with: "&c="), "certificate"),
        (SampleLink.text.replacing("MUec&s", with: "MUed&s"), "certificate"),
        (SampleLink.text.replacing("&c=", with: "&d="), "certificate"),
        (SampleLink.text.replacing("&s=8", with: "&s=88"), "secret"),
        (SampleLink.text.replacing("_w&x", with: "_x&x"), "secret"),
        (SampleLink.text.replacing("-fr7", with: "%2Bfr7"), "secret"),
        (SampleLink.text.replacing("_w&x", with: "_w==&x"), "secret"),
        (SampleLink.text.replacing("&s", with: "&t"), "secret"),
        (SampleLink.text.replacing("x=1", with: "x=0"), "time"),
        (SampleLink.text.replacing("x=1", with: "x=-"), "time"),
        (SampleLink.text + "0", "time"), (SampleLink.text.replacing("&x", with: "&y"), "time"),
        (SampleLink.text + "&b=" + String(repeating: "b", count: 2_048), "longer"),
    ])
    func `a damaged link is refused in a sentence that does not quote it`(
        text: String, part: String
    ) throws {
        let error = #expect(throws: PeerError.self) { try PeerLink(text) }
        #expect(error?.code == .invalidLink)
        let message = try #require(error?.message)
        #expect(message.contains(part), "\(message)")
        #expect(message.hasSuffix(".") && !message.contains("8PHy8") && !message.contains("192."))
    }

    @Test func `a link of another version is told apart, whatever else it has`() {
        for text in ["divan://x#2", "divan://a,b/c/d#12&y", "divan://#9999&s=1"] {
            let error = #expect(throws: PeerError.self) { try PeerLink(text) }
            #expect(error?.code == .unsupportedVersion, "\(text)")
        }
    }

    @Test func `nothing but the text of a link has the secret`() throws {
        let link = try SampleLink.make(user: "ann")
        #expect("\(link)" == "divan://192.168.1.7:49213/notes#(secret)")
        var dumped = ""
        dump(link, to: &dumped)
        dump(link.invitation, to: &dumped)
        // The modules of its code are the secret, too.
        let code = try link.qrCode()
        dump(code, to: &dumped)
        #expect("\(code)" == "QRCode(41 by 41 modules, low)" && "\([code])" == "[\(code)]")
        #expect(!dumped.contains("1, 1, 1") && !dumped.contains("- 1\n"))
        let printed = [
            "\(link)", String(reflecting: link), String(reflecting: link.invitation),
            "\(link.invitation)", "\(link.invitation.secret)", "\([link])",
            "\(Optional(link) as Any)",
            dumped,
        ]
        for text in printed {
            #expect(!text.contains("8PHy8"), "\(text)")
            #expect(!text.contains("240, 241"), "\(text)")
            #expect(!text.contains("- 240"), "\(text)")
        }
    }

    @Test func `names that look the same and have other bytes make other links`() throws {
        let one = try SampleLink.make(user: "\u{E9}")
        let other = try SampleLink.make(user: "e\u{301}")
        #expect(one != other && one.text != other.text)
        #expect(try PeerLink(one.text) == one && PeerLink(other.text) == other)
        #expect(Set([one, other]).count == 2)
    }

    @Test func `values that a link cannot have are refused`() throws {
        func refuses(_ body: () throws -> PeerLink, _ comment: Comment) {
            let error = #expect(throws: PeerError.self, comment) { _ = try body() }
            #expect(error?.code == .invalidValue, comment)
        }
        refuses({ try SampleLink.make([]) }, "no address")
        refuses({ try SampleLink.make((1...9).map { "10.0.0.\($0)" }) }, "nine addresses")
        for address in ["", "0.0.0.0", "::", "1.2.3", "[::1]", "a_b", "%eth0", "10.0.0.1:80"] {
            refuses({ try SampleLink.make([address]) }, "\(address)")
        }
        for port in [0, -1, 65_536, .max, .min] {
            refuses({ try SampleLink.make(port: port) }, "\(port)")
        }
        for name in ["", "Notes", "_users", "_replicator", "caf\u{E9}", "notes\u{301}"] {
            refuses({ try SampleLink.make(database: name) }, "\(name)")
        }
        for user in ["", "a:b", "a\nb", "a\u{9B}b", String(repeating: "u", count: 201)] {
            refuses({ try SampleLink.make(user: user) }, "\(user)")
        }
        for fingerprint in [
            "", "3f0c51", SampleLink.fingerprint + "00", "x" + SampleLink.fingerprint,
        ] {
            #expect(throws: PeerError.self) {
                try PeerEndpoint(addresses: ["10.0.0.1"], port: 1, fingerprint: fingerprint)
            }
        }
        let long = "abcdefgh".map { String(repeating: "x.", count: 125) + String($0) }
        refuses(
            { try SampleLink.make(long, user: String(repeating: "\u{E9}", count: 100)) }, "too long"
        )
    }

    @Test func `addresses stand in a link once, without the interface they were seen on`() throws {
        let link = try SampleLink.make(["fe80::1%eth0", "fe80:0::1", "10.0.0.1", "10.0.0.1"])
        #expect(link.endpoint.addresses == ["fe80::1", "10.0.0.1"])
        // Nine that are eight.
        let nine = (1...8).map { "10.0.0.\($0)" } + ["10.0.0.1"]
        #expect(try SampleLink.make(nine).endpoint.addresses.count == 8)
    }

    @Test func `changed and random bytes are refused, or give a link that holds`() throws {
        var accepted = 0
        for round in Soak.rounds(test: 4_000, soak: 2_000_000) {
            var random = Soak.random(round: round, salt: 0xF077)
            var bytes = Array(try SampleLink.random(&random).text.utf8)
            switch random.below(8) {
            case 0:
                bytes = (0..<random.below(300)).map { _ in UInt8(random.below(256)) }
            case 1:
                bytes = Array("divan://".utf8)
                bytes += (0..<random.below(200)).map { _ in UInt8(0x20 + random.below(96)) }
            default:
                for _ in 0...random.below(3) {
                    let place = random.below(bytes.count)
                    switch random.below(4) {
                    case 0: bytes[place] = UInt8(random.below(256))
                    case 1: bytes[place] = random.element(of: Array(":/#?&=%,.[]-10aF".utf8))
                    case 2: bytes.remove(at: place)
                    default: bytes.insert(contentsOf: bytes[place...].prefix(9), at: place)
                    }
                }
            }
            do throws(PeerError) {
                let link = try PeerLink(String(decoding: bytes, as: UTF8.self))
                #expect(try PeerLink(link.text) == link, "round \(round)")
                accepted += 1
            } catch {
                #expect(error.code == .invalidLink || error.code == .unsupportedVersion)
            }
        }
        // Most changes of an address, a name or the secret leave a link.
        #expect(accepted > 0)
    }

    @Test(.enabled(if: CodeReader.program != nil, CodeReader.reason))
    func `links are read from their codes in dark and light terminals`() throws {
        for round in Soak.rounds(test: 8, soak: 500) {
            var random = Soak.random(round: round, salt: 0x7E81)
            let link = try SampleLink.random(&random)
            let code = try link.qrCode()
            for (terminal, background) in [
                (TestTerminal.dark, QRCode.TerminalBackground.dark), (.light, .light),
                (.dark, .any), (.light, .any),
            ] {
                let picture = try terminal.show(code.terminal(on: background))
                let read = try #require(try CodeReader.read(picture), "round \(round)")
                #expect(try PeerLink(read) == link, "round \(round)")
            }
        }
    }
}
