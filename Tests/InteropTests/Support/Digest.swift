#if os(Linux)
import Foundation
import TestSupport

/// Returns the SHA-256 of a file as hexadecimal digits. A program of the system computes it, because a debug build would take seconds for
/// a big file.
func digest(of file: URL) async throws -> String {
    let lines = try await shell("sha256sum < \"$0\" >&2", file)
    return lines.first?.split(separator: " ").first.map(String.init) ?? ""
}

/// Writes random bytes to a file.
func writeRandomBytes(_ count: Int, to file: URL) async throws { _ = try await shell("head -c \(count) /dev/urandom > \"$0\"", file) }

/// Runs a script with a file as its argument.
/// - Returns: The lines of its standard error.
private func shell(_ script: String, _ file: URL) async throws -> [String] {
    let child = try Child(["-c", script, file.path], executable: URL(filePath: "/bin/bash"))
    let end = await child.end()
    await child.endOfLines()
    guard end.status == 0 else { throw ServerFailure(description: "\(script) failed: \(child.lines.entries)") }
    return child.lines.entries
}
#endif
