import Foundation
import NessHTTP

/// `ness-demo` shows the main job on real sockets; `ness-demo URL` sends a GET; `ness-demo download URL` saves a file;
/// `ness-demo upload URL` sends one; `ness-demo inspect` shows requests live.
@main
struct NessDemo {
    static func main() async {
        switch Arguments.parse(Array(CommandLine.arguments.dropFirst())) {
        case .help:
            print(Arguments.usage)
        case .wrong(let reason):
            complain(reason + "\n" + Arguments.usage)
            exit(ExitCode.usage)
        case .tour:
            await finish { try await Tour.run() }
        case .inspect:
            await finish { try await Inspect.run() }
        case .get(let url, let headers):
            await finish { try await Get.run(url, headers: headers) }
        case .download(let url, let headers, let file, let segments):
            await finish { try await Download.run(url, headers: headers, file: file, segments: segments) }
        case .upload(let url, let headers, let file, let record, let isDraft):
            await finish { try await Upload.run(url, headers: headers, file: file, record: record, isDraft: isDraft) }
        }
    }

    /// Runs a command; a failure is one line and exit code 1.
    private static func finish(_ command: @Sendable () async throws -> Void) async {
        do {
            try await command()
        } catch {
            complain("ness-demo: \(error)")
            exit(ExitCode.failure)
        }
    }

    private static func complain(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
}

enum ExitCode {
    static let failure: Int32 = 1
    /// Ended by Ctrl-C: 128 and the signal's number.
    static let interrupted: Int32 = 130
    /// The exit status for wrong usage, EX_USAGE on the BSDs.
    static let usage: Int32 = 64
}
