#if canImport(os)
import os

extension RequestLogger {
    /// Makes a logger that writes to the system's log, at the level `debug`. What it writes has no secrets, and is public there.
    /// - Parameters:
    ///   - style: How much is written.
    ///   - logger: The system's logger.
    public init(_ style: Style = .line, to logger: Logger) {
        self.init(style) { text in logger.debug("\(text, privacy: .public)") }
    }
}
#endif
