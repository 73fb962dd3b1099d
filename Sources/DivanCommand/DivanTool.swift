// SPDX-License-Identifier: Apache-2.0

internal import DivanSystem
internal import FoundationEssentials

/// The process. Everything else is in `Tool`, where tests reach it.
@main
struct DivanTool {
    static func main() async {
        EngineChoice.registerAll()
        let tool = Tool(environment: ProcessInfo.processInfo.environment)
        tool.interruption.listen()
        Signals.refuseLongFiles()
        let status = await tool.run(arguments: CurrentProcess.arguments)
        CurrentProcess.exit(status.rawValue)
    }
}
