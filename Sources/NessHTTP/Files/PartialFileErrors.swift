/// A file is shorter than the server announced.
struct IncompleteFile: Error, CustomStringConvertible {
    let description: String
}

/// The server's answer does not continue the partial file. The download starts over.
struct RangeMismatch: ExchangeInterruption {}
