// SPDX-License-Identifier: Apache-2.0

import Foundation

// Sends pictures to a device whose QR code it was shown. Read in this order: Picture, Meeting, Receiver, Sender.
let usage = """
    usage: photodrop receive FOLDER [--name NAME] [--loopback]
           photodrop send LINK FILE … [--name NAME] [--loopback]

      receive      shows a code and a link, and stores the pictures that come as files
      send         sends pictures to the device that shows the link
      --name NAME  how the other device calls this one; the user's name unless given
      --loopback   be there for programs on this machine only
    """

do {
    var words = Array(CommandLine.arguments.dropFirst())
    var name = ProcessInfo.processInfo.userName
    if let place = words.firstIndex(of: "--name"), place + 1 < words.count {
        name = words[place + 1]
        words.removeSubrange(place...place + 1)
    }
    let isLocal = words.contains("--loopback")
    words.removeAll { $0 == "--loopback" }
    let host = isLocal ? "127.0.0.1" : "0.0.0.0"
    switch (words.first, words.count) {
    case ("receive", 2):
        let folder = URL(filePath: words[1])
        try await Meeting.with(name: name, host: host) { meeting in
            try await Receiver(meeting: meeting, folder: folder).run()
        }
    case ("send", 3...):
        let (link, files) = (words[1], words[2...].map { URL(filePath: $0) })
        try await Meeting.with(name: name, host: host) { meeting in
            try await Sender(meeting: meeting, files: files).run(to: link)
        }
    default:
        say(usage, to: .standardError)
        exit(64)
    }
} catch {
    say("photodrop: \(sentence(of: error))", to: .standardError)
    exit(1)
}
