// SPDX-License-Identifier: Apache-2.0

import CFuzzer
import DivanFuzzTargets

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Feeds one target with what libFuzzer thinks up; `scripts/fuzz` builds and runs it.
///
///     DivanFuzz TARGET ARGUMENTS-OF-LIBFUZZER …
///     DivanFuzz --list
///     DivanFuzz --seeds TARGET FOLDER         writes the target's seeds into a folder
@main
enum DivanFuzz {
    nonisolated(unsafe) private static var target: FuzzTarget?

    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count > 1, arguments[1] != "--list" else {
            for target in FuzzTarget.all { print(target.name) }
            return
        }
        let isSeeding = arguments[1] == "--seeds" && arguments.count == 4
        let name = arguments[isSeeding ? 2 : 1]
        guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
            print("There is no target '\(name)'; --list names them.")
            exit(2)
        }
        if isSeeding { return writeSeeds(of: target, to: arguments[3]) }
        Self.target = target
        // libFuzzer wants the program's name first, and the target is no argument of its.
        var pointers = ([arguments[0]] + arguments.dropFirst(2)).map { strdup($0) }
        let status = divan_fuzz_run(Int32(pointers.count), &pointers) { bytes, count in
            DivanFuzz.target?.run(Array(UnsafeBufferPointer(start: bytes, count: count)))
            return 0
        }
        guard status >= 0 else {
            print("This build has no fuzzer in it; scripts/fuzz makes one.")
            exit(2)
        }
        exit(status)
    }

    private static func writeSeeds(of target: FuzzTarget, to folder: String) {
        for (number, seed) in target.seeds.enumerated() {
            guard let file = fopen("\(folder)/seed-\(number)", "w") else {
                print("'\(folder)' cannot be written to.")
                exit(2)
            }
            fwrite(seed, 1, seed.count, file)
            fclose(file)
        }
    }
}
