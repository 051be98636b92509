/// The kind of a request, by the place of its result.
public enum RequestKind: Sendable, Hashable {
    /// The response is collected in memory.
    case data
    /// The response is collected in memory, and the request reports its progress as an upload.
    case upload
    /// The response is written to a file.
    case download
    /// The response is passed to a reader while it arrives, and not kept.
    case stream

    /// True if a request of this kind can be paused.
    var isPausable: Bool { self == .download || self == .upload }
}
