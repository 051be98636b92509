import Foundation
import NessHTTP
import NessLock

/// Receives resumable uploads on a `TestServer`: by tus 1.0.0 and by the IETF draft "Resumable Uploads for HTTP".
///
/// ```swift
/// let server = try await TestServer.start { _ in .status(404) }
/// let uploads = try server.resumableUploads(in: folder)
/// uploads.add(.resets(after: 100_000))
/// // … upload the film to uploads.url, with a client that resumes …
/// let upload = try #require(uploads.all.first)
/// #expect(upload.isComplete)
/// #expect(try Data(contentsOf: upload.fileURL) == filmData)
/// ```
/// The server writes the bytes of a body to a file while they arrive. If the connection breaks off, the bytes that have arrived count. An
/// `Upload-Checksum` is the exception: the server keeps the body only after it has verified the whole.
///
/// A request that creates an upload goes to `url`. It is a tus request if it has a `Tus-Resumable` field, and one of the draft if it has a
/// valid `Upload-Complete` field. Any other POST or PUT is an upload that cannot be resumed. Further requests follow the protocol that
/// created the upload.
///
/// Each upload serves one request at a time. Another request to the same upload resets the connection of a request whose body is still
/// arriving. The faults that tests add are in `UploadFault`. `TestServer.requests` lists the requests without their bodies.
public final class ResumableUploads: Sendable {
    /// The version of the draft's text that the server implements, as in `Upload-Draft-Interop-Version`.
    public static let interopVersion = 8

    /// An upload at one moment.
    public struct Upload: Sendable {
        /// The protocols that create an upload.
        public enum Kind: Sendable, Hashable {
            /// The protocol tus 1.0.0.
            case tus
            /// The IETF draft "Resumable Uploads for HTTP".
            case draft
            /// A conventional upload in one request, which cannot be resumed.
            case plain
        }

        /// The last component of the path.
        public let identifier: String
        /// The protocol that created the upload.
        public let kind: Kind
        /// The absolute path that further requests name, as in the `Location` of the response.
        public let path: String
        /// The file with the received bytes. It is deleted when the client cancels the upload.
        public let fileURL: URL
        /// The number of bytes that count as received: the offset.
        public let receivedByteCount: Int64
        /// The length in bytes that the client has announced; `nil` if it is not known yet.
        public let length: Int64?
        /// True if the client has completed the upload.
        public let isComplete: Bool
        /// True if the upload was canceled, forgotten, has expired or has failed. Further requests get a 404 or a 410.
        public let isGone: Bool
        /// The decoded pairs of `Upload-Metadata` (tus). Bytes that are not UTF-8 become U+FFFD.
        public let metadata: [String: String]
        /// The header fields of the request that created the upload.
        public let creationHeaders: HTTPHeaders
        /// The requests that created or named the upload, in the order of arrival.
        public let requests: [Request]
    }

    /// A request to the server, recorded when its head has arrived.
    public struct Request: Sendable {
        /// The method. With `X-HTTP-Method-Override`, the method that this field names.
        public let method: HTTPMethod
        /// The path, without the query.
        public let path: String
        /// The upload that the request named or created; `nil` for none.
        public internal(set) var uploadIdentifier: String?
        /// The header fields.
        public let headers: HTTPHeaders
        /// The value of `Upload-Offset`; `nil` if the field is missing or malformed.
        public let offset: Int64?
        /// The number of bytes of the body that have arrived.
        public internal(set) var receivedByteCount: Int64 = 0
        /// The status of the final response; `nil` before it.
        public internal(set) var status: Int?
    }

    /// The options of `TestServer.resumableUploads`.
    struct Settings: Sendable {
        let folder: URL
        let maximumSize: Int64?
        let lifetime: Duration?
        let progressInterval: Int64?
        let completion: @Sendable (Upload) -> Reply
    }

    private struct State: Sendable {
        var uploads: [StoredUpload] = []
        var requests: [Request] = []
        var faults = FaultPlan()
    }

    /// The absolute path of the requests that create uploads.
    public let path: String
    /// The URL of the requests that create uploads.
    public let url: URL
    let settings: Settings
    private let changed = ChangeSignal()
    private let state = Lock(State())

    init(path: String, server: URL, settings: Settings) {
        let components = path.utf8.split(separator: UInt8(ascii: "/")).map { String(decoding: $0, as: UTF8.self) }
        self.path = "/" + components.joined(separator: "/")
        url = URL(string: server.absoluteString + self.path) ?? server.appendingPathComponent(path)
        self.settings = settings
    }

    /// Every upload so far, oldest first, including those that are gone.
    public var all: [Upload] {
        state.withLock { $0.uploads }.map { $0.description(requests: requests(of: $0)) }
    }

    /// Every request so far, in the order of arrival, including those without an upload.
    public var requests: [Request] { state.withLock { $0.requests } }

    /// The faults that are still to happen, in the order in which they were added.
    public var faults: [UploadFault] { state.withLock { $0.faults.faults } }

    /// Adds a fault. Callable at any time, and from any thread.
    /// - Parameters:
    ///   - fault: The fault.
    ///   - method: The method of the requests that the fault applies to; `nil` for every request that the fault can apply to.
    ///   - count: The number of requests that the fault applies to. Has no effect on `.noInterim` and `.limits`, which are permanent.
    public func add(_ fault: UploadFault, on method: HTTPMethod? = nil, times count: Int = 1) {
        state.withLock { $0.faults.add(fault, on: method, times: count) }
    }

    /// Removes all faults that are still to happen, and the permanent ones. Callable at any time, and from any thread.
    public func removeFaults() { state.withLock { $0.faults.removeAll() } }

    /// Suspends until the uploads meet a condition, such as `{ $0.first?.receivedByteCount == 100 }`. The condition is checked at each
    /// change, never on a timer, so an expiry alone does not wake it. The server's stop does not end the wait.
    /// - Parameter predicate: The condition. Runs in the calling task.
    /// - Returns: True if the condition was met; false if the task was canceled before.
    @discardableResult
    public func waitUntil(_ predicate: @Sendable ([Upload]) -> Bool) async -> Bool { await changed.wait { predicate(all) } }

    /// Returns the path of a request, without the query.
    static func path(of head: IncomingRequest) -> String { ReceivedRequest(method: head.method, target: head.target).path }

    /// Returns the identifier in the path of an upload; `nil` for the path of a creation.
    func identifier(in path: String) -> String? {
        let rest = path.utf8.dropFirst(self.path.utf8.count).drop { $0 == UInt8(ascii: "/") }
        return rest.isEmpty ? nil : String(decoding: rest, as: UTF8.self)
    }

    /// Returns the upload with an identifier.
    func upload(_ identifier: String) -> StoredUpload? {
        state.withLock { $0.uploads }.first { $0.identifier.isExactly(identifier) }
    }

    /// Returns the requests that created or named an upload.
    func requests(of upload: StoredUpload) -> [Request] { requests.filter { $0.uploadIdentifier == upload.identifier } }

    /// Makes an upload, with an empty file.
    /// - Throws: `FileError`.
    func makeUpload(_ kind: Upload.Kind, length: Int64?, for exchange: UploadExchange) throws -> StoredUpload {
        // The identifier is hard to guess (draft, "Security Considerations").
        let identifier = (0..<16).map { _ in UInt8.random(in: .min ... .max) }.hexadecimal
        let location = path.isExactly("/") ? path + identifier : "\(path)/\(identifier)"
        let expiry = settings.lifetime.map { Date(timeIntervalSinceNow: $0.clampedForSleep / .seconds(1)) }
        let file = settings.folder.appendingPathComponent(identifier, isDirectory: false)
        let upload = StoredUpload(
            identifier: identifier, kind: kind, path: location, file: file,
            creationHeaders: exchange.head.headers, expiry: expiry, length: length, changed: changed)
        _ = try OpenFile(writing: Data(), to: upload.file.path)
        exchange.noteCreation(of: upload)
        state.withLock { $0.uploads.append(upload) }
        changed.notify()
        return upload
    }

    /// Records a request.
    /// - Returns: Its index, for `changeEntry`.
    func log(_ request: Request) -> Int {
        defer { changed.notify() }
        return state.withLock { state in
            state.requests.append(request)
            return state.requests.count - 1
        }
    }

    /// Changes a recorded request.
    func changeEntry(_ index: Int, _ body: (inout Request) -> Void) {
        state.withLock { body(&$0.requests[index]) }
        changed.notify()
    }

    /// Takes a fault that applies to a request: see `FaultPlan`.
    func takeFault<Value: Sendable>(
        for method: HTTPMethod, appliesToAll: Bool = true, _ match: (UploadFault) -> Value?
    ) -> Value? {
        state.withLock { $0.faults.take(for: method, appliesToAll: appliesToAll, match) }
    }

    /// Returns the largest body of a request; `nil` without a limit.
    var maximumAppendSize: Int64? {
        for case .limits(let size) in faults { return size }
        return nil
    }

    /// True if no 104 is sent.
    var hasNoInterim: Bool { faults.contains(.noInterim) }
}

extension TestServer {
    /// Adds routes that receive resumable uploads: see `ResumableUploads`. Requests to other paths still reach the handler. On a server
    /// with a script, the routes serve the requests of `ConnectionStep.serve(_:)` only.
    /// - Parameters:
    ///   - path: The path of the requests that create uploads. Each upload has a path below it.
    ///   - folder: The folder for the files of the uploads, one file for each. It is created if it does not exist.
    ///   - maximumSize: The largest upload in bytes; `nil` for no limit. A single body is limited to 1 GiB anyway.
    ///   - lifetime: The time after which an incomplete upload is gone; `nil` for never.
    ///   - progressInterval: The number of bytes after which the server reports its progress in a 104; `nil` for no such reports. For the
    ///     draft only.
    ///   - completion: Makes the final response to the request that completes an upload of the draft, or a conventional upload. Runs on the
    ///     connection's thread. tus has a fixed response.
    /// - Returns: The uploads.
    /// - Throws: An error if the folder cannot be created.
    public func resumableUploads(
        at path: String = "/uploads", in folder: URL, maximumSize: Int64? = nil, lifetime: Duration? = nil, progressInterval: Int64? = nil,
        completion: @escaping @Sendable (_ upload: ResumableUploads.Upload) -> Reply = {
            .json(JSONValue.object(["length": .integer($0.receivedByteCount)]))
        }
    ) throws -> ResumableUploads {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let uploads = ResumableUploads(
            path: path, server: url,
            settings: ResumableUploads.Settings(
                folder: folder, maximumSize: maximumSize, lifetime: lifetime, progressInterval: progressInterval, completion: completion))
        install(uploads)
        return uploads
    }
}
