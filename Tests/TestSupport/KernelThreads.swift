#if os(Linux)
import Foundation

/// The threads of this process.
package enum Threads {
    /// The number of threads.
    package static var count: Int { tasks.count }

    private static var tasks: [String] { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? [] }

    /// Returns what the kernel says of each thread of a name, as lines: proc(5), `status`.
    package static func statuses(named name: String) -> [String] {
        tasks.compactMap { try? String(contentsOfFile: "/proc/self/task/\($0)/status", encoding: .utf8) }
            .filter { $0.hasPrefix("Name:\t\(name)\n") }
    }
}
#endif
