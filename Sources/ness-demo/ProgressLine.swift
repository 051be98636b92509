import Foundation
import NessHTTP
import NessLock

/// Shows how far a transfer is: a bar in a terminal, and now and then a line elsewhere.
final class ProgressLine: Sendable {
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private let shownTenth = Lock(-1)

    func show(_ progress: TransferProgress) {
        guard progress.completedBytes > 0 else { return }
        let text = Self.text(progress)
        if isTerminal {
            // Back to the start, and clear the rest of the line.
            write("\r\(Self.bar(progress.fractionCompleted))\(text)\u{1B}[K")
            return
        }
        let tenth = progress.fractionCompleted.map { Int($0 * 10) } ?? Int(progress.completedBytes >> 24)
        let isNew = shownTenth.withLock { shown in
            defer { shown = max(shown, tenth) }
            return tenth > shown
        }
        if isNew { write(text + "\n") }
    }

    func end() {
        if isTerminal { write("\n") }
    }

    private func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }

    static func bar(_ fraction: Double?) -> String {
        guard let fraction else { return "" }
        let width = 30
        let full = Int(fraction * Double(width))
        let head = full < width ? ">" : ""
        return "[" + String(repeating: "=", count: full) + head + String(repeating: " ", count: width - full - head.count) + "] "
    }

    static func text(_ progress: TransferProgress) -> String {
        var parts: [String] = []
        if let fraction = progress.fractionCompleted { parts.append("\(Int(fraction * 100))%") }
        parts.append(megabytes(Double(progress.completedBytes)) + (progress.totalBytes.map { " of \(megabytes(Double($0)))" } ?? ""))
        if let speed = progress.bytesPerSecond { parts.append(megabytes(speed) + "/s") }
        if let left = progress.estimatedTimeRemaining, progress.fractionCompleted != 1 {
            let seconds = Int(left / .seconds(1))
            parts.append("\(seconds / 60):\(seconds % 60 < 10 ? "0" : "")\(seconds % 60) left")
        }
        return parts.joined(separator: "  ")
    }

    private static func megabytes(_ bytes: Double) -> String {
        bytes < 1e6 ? "\(Int(bytes / 1e3)) kB" : "\((bytes / 1e5).rounded() / 10) MB"
    }
}
