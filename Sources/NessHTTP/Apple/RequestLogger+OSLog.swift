#if canImport(os)
import os

extension RequestLogger {
    /// Makes a logger that writes to the system's log, at the level `debug`. The entries contain no secrets and are marked as public.
    /// - Parameters:
    ///   - style: The amount of detail.
    ///   - logger: The system's logger.
    public init(_ style: Style = .line, to logger: Logger) {
        self.init(style) { text in logger.debug("\(text, privacy: .public)") }
    }
}
#endif
