// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation

/// Compares Divan with a server that speaks CouchDB's language: run by scripts/interop, which says how.
@main
enum DivanInterop {
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if let mode = arguments.first, let child = Child(rawValue: mode) {
            await child.run(Array(arguments.dropFirst()))
        }
        do {
            exit(try await run(Options(arguments)))
        } catch {
            Report.write("interop: \(error)", to: 2)
            exit(2)
        }
    }

    private static func run(_ options: Options) async throws -> Int32 {
        if options.asksForHelp {
            Report.write(Options.usage)
            return 0
        }
        if options.lists {
            for part in Part.all {
                Report.write(
                    part.name.padding(toLength: 14, withPad: " ", startingAt: 0) + part.summary)
            }
            return 0
        }
        let harness = try await Harness(options)
        let signals = [SIGINT, SIGTERM].map { stop(harness, at: $0) }
        defer { signals.forEach { $0.cancel() } }
        harness.report.say(
            "Divan and \(options.server.map { "\($0)" } ?? "a listener in place of a server"), seed \(options.seed)"
        )
        var troubles = 0
        for part in Part.all where options.parts.isEmpty || options.parts.contains(part.name) {
            harness.report.say("\(part.name): \(part.summary)")
            let began = ContinuousClock.now
            do {
                try await part.run(harness)
            } catch {
                troubles += 1
                harness.report.say("BROKEN \(part.name): \(error)")
            }
            harness.report.say(
                "\(part.name): \((ContinuousClock.now - began).components.seconds) s")
        }
        await harness.cleanUp()
        harness.report.summarize()
        return troubles > 0 ? 2 : harness.report.unexplained > 0 ? 1 : 0
    }

    /// At Control-C what was made is removed; the second one does not wait for that.
    private static func stop(_ harness: Harness, at number: Int32) -> any DispatchSourceSignal {
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
        source.setEventHandler {
            signal(number, SIG_DFL)
            Report.write("interop: stopped; removing what was made", to: 2)
            Task.detached {
                await harness.cleanUp()
                exit(128 + number)
            }
        }
        source.resume()
        return source
    }
}
