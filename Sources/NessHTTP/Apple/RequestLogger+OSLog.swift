#if canImport(os)
import os

extension RequestLogger {
    /// Makes a logger that writes to the system's log. A warning has the system's default level there. The entries contain no secrets and
    /// are marked as public.
    /// - Parameters:
    ///   - style: The amount of detail.
    ///   - level: The lowest level of the entries that are logged.
    ///   - logger: The system's logger.
    public init(_ style: Style = .line, from level: Level = .debug, to logger: Logger) {
        self.init(style, from: level) { level, text in
            switch level {
            case .debug: logger.debug("\(text, privacy: .public)")
            case .info: logger.info("\(text, privacy: .public)")
            case .warning: logger.log("\(text, privacy: .public)")
            case .error: logger.error("\(text, privacy: .public)")
            }
        }
    }
}
#endif
