import NessHTTP

/// A fault of `ResumableUploads`. A fault applies to one request, unless it is added with a higher count. Of a body with an
/// `Upload-Checksum`, a fault that ends the connection early keeps nothing.
///
/// ```swift
/// uploads.add(.resets(after: 100_000), on: .patch)
/// uploads.add(.answers(status: 503), on: .head, times: 2)
/// ```
public enum UploadFault: Sendable, Equatable {
    /// Drops the upload that the request names. From then on, each request to the upload gets a 404. A creation names no upload.
    case forgets
    /// Reports this offset to a HEAD or GET, in place of the correct one.
    case liesAboutOffset(Int64)
    /// Leaves `Upload-Offset` out of a final response that would have it.
    case omitsOffset
    /// Reads the whole body, but keeps at most this number of bytes. The response reports success and the offset that results. A checksum
    /// of the body is not verified if bytes are dropped. Without a method, applies to the next request with a body.
    case acceptsLess(Int64)
    /// Keeps this number of bytes of the body. Then the server drops what arrives and never responds, until the client closes, or until
    /// another request to the same upload arrives. If the body is not longer, the server reads all of it, and never responds. Without a
    /// method, applies to the next request with a body.
    case stalls(after: Int64)
    /// Keeps this number of bytes of the body, and resets the connection. If the body is not longer, as with `.max`, the server applies the
    /// whole request and resets in place of the response. Without a method, applies to the next request with a body.
    ///
    /// A client may lose an interim response that it has not read before the reset.
    case resets(after: Int64)
    /// Sends the 104 with the location twice.
    case announcesTwice
    /// Responds with a status and header fields, and does nothing else. Without a method, applies to the next request of any method.
    case answers(status: Int, headers: HTTPHeaders = [:])
    /// Never sends a 104, until `ResumableUploads.removeFaults()`.
    case noInterim
    /// Rejects a longer body with a 413, and announces the limit, until `ResumableUploads.removeFaults()`.
    case limits(maximumAppendSize: Int64)

    /// True for a fault that applies until it is removed.
    var isPermanent: Bool {
        switch self {
        case .noInterim, .limits: true
        default: false
        }
    }
}

/// The faults that are still to happen. It is not synchronized: its owner's lock guards it.
struct FaultPlan: Sendable {
    private struct Entry: Sendable {
        let fault: UploadFault
        let method: HTTPMethod?
        var count: Int
    }

    private var entries: [Entry] = []

    /// The faults, in the order in which they were added.
    var faults: [UploadFault] { entries.map(\.fault) }

    /// Adds a fault.
    mutating func add(_ fault: UploadFault, on method: HTTPMethod?, times count: Int) {
        if count > 0 { entries.append(Entry(fault: fault, method: method, count: count)) }
    }

    /// Removes all faults.
    mutating func removeAll() { entries = [] }

    /// Takes the first fault that applies to a request.
    /// - Parameters:
    ///   - method: The request's method.
    ///   - appliesToAll: True if a fault without a method applies to this request.
    ///   - match: Returns the fault's value; `nil` for another kind of fault.
    /// - Returns: The value of the fault; `nil` if none applies.
    mutating func take<Value>(for method: HTTPMethod, appliesToAll: Bool, _ match: (UploadFault) -> Value?) -> Value? {
        for (index, entry) in entries.enumerated() where entry.method.map({ $0 == method }) ?? appliesToAll {
            guard let value = match(entry.fault) else { continue }
            if !entry.fault.isPermanent {
                entries[index].count -= 1
                if entries[index].count == 0 { entries.remove(at: index) }
            }
            return value
        }
        return nil
    }
}
