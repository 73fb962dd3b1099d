// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

/// The program `DivanTestChild`.
public enum TestProgram {
    /// Where it is: beside the test bundle, where the package manager builds it.
    public static let path: String = {
        var path = [CChar](repeating: 0, count: 4_096)
        var own = CommandLine.arguments[0]
        if readlink("/proc/self/exe", &path, path.count - 1) > 0 {
            own = String(
                decoding: path.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
        // A bundle on Apple platforms has the program some folders above; try each.
        var folder = own[...]
        while let slash = folder.lastIndex(of: "/") {
            folder = folder[..<slash]
            let candidate = folder + "/DivanTestChild"
            if access(String(candidate), X_OK) == 0 { return String(candidate) }
        }
        return "DivanTestChild"
    }()
}
