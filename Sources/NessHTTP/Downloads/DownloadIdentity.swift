import Foundation

/// The parts of a request by which two downloads to one file are the same: the second waits for the first.
struct DownloadIdentity: Hashable, Sendable {
    /// Identifies the requested resource, as `PartialRecord.source`.
    let source: String
    let method: HTTPMethod
    /// The parts of the body. `nil` for a body that cannot be compared. Such bodies count as equal: a wait costs less than a failure.
    let body: [Data]?

    init(_ request: HTTPRequest, source: String) {
        self.source = source
        method = request.method
        body = request.body.map(\.identity) ?? []
    }
}
