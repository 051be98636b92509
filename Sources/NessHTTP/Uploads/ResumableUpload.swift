import Foundation

/// Describes how an upload continues after an interruption, for `RequestBuilder.uploadRequest(forFileLocation:resuming:)`.
///
/// ```swift
/// let upload = ness.post("films").uploadRequest(
///     forFileLocation: film,
///     resuming: .tus(metadata: ["filename": "a.mov"], record: record))
/// upload.pause()
/// upload.resume()
/// let done = try await upload.value
/// print(done.message.statusCode, done.uploadURL ?? "")
/// ```
public struct ResumableUpload: Sendable {
    let uploadProtocol: any UploadProtocol
    let record: URL?
    let existing: URL?
    let partSize: Int64?
    let trustsOtherOrigins: Bool

    /// Makes the description of a resumable upload with any protocol.
    /// - Parameters:
    ///   - uploadProtocol: The protocol that the server speaks.
    ///   - record: The URL of a small file that records the upload. If a later run of the program makes the same call, the upload continues.
    ///     The file's folder must exist. Ness writes the file when the server has named the upload, and removes it when the upload is
    ///     complete. It contains the URL of the upload, but no credential. With `nil`, only the same promise continues the upload: after a
    ///     pause, or in another attempt.
    ///   - existing: The URL of an upload that has been created already, for example by your own server. Ness then creates none. `nil`: the
    ///     request creates the upload.
    ///   - partSize: The most bytes of one request, for servers that collect a request before they store it. It must be
    ///     positive; otherwise the request fails with `NessError.Kind.invalidRequest`. `nil` sends all that is left.
    ///   - trustsOtherOrigins: True to send the credential and secret header fields to the upload's URL even if the server has named one of
    ///     another origin.
    public init(
        _ uploadProtocol: any UploadProtocol, record: URL? = nil, continuing existing: URL? = nil, partSize: Int64? = nil,
        trustsOtherOrigins: Bool = false
    ) {
        (self.uploadProtocol, self.record, self.existing, self.partSize) = (uploadProtocol, record, existing, partSize)
        self.trustsOtherOrigins = trustsOtherOrigins
    }

    /// Makes the description of an upload with tus 1.0.0 (tus.io). A POST to the request's URL creates the upload.
    /// - Parameters:
    ///   - metadata: The names and values of `Upload-Metadata`, such as `filename`. A name has ASCII characters except spaces and commas;
    ///     any other name fails the request with `NessError.Kind.invalidRequest`.
    ///   - record: The URL of the record: see `init(_:record:continuing:partSize:trustsOtherOrigins:)`.
    ///   - existing: The URL of an upload that has been created already; `nil` to create one.
    ///   - partSize: The most bytes of one request. With a checksum it is 8 MiB unless it is set.
    ///   - checksum: The digest that each part carries, for servers with the extension `checksum`. With `.sha1` and `.md5`, a part
    ///     has at most 64 MiB. `nil` for none.
    ///   - createsWithContent: True to send the first part with the creation, for servers with the extension `creation-with-upload`.
    ///   - trustsOtherOrigins: True to send the credential to an upload's URL of another origin.
    public static func tus(
        metadata: [String: String] = [:], record: URL? = nil, continuing existing: URL? = nil, partSize: Int64? = nil,
        checksum: UploadChecksum? = nil, createsWithContent: Bool = false, trustsOtherOrigins: Bool = false
    ) -> ResumableUpload {
        ResumableUpload(
            TusProtocol(metadata: metadata, checksum: checksum, createsWithContent: createsWithContent), record: record,
            continuing: existing, partSize: partSize ?? checksum.map { _ in 8 << 20 }, trustsOtherOrigins: trustsOtherOrigins)
    }

    /// Makes the description of an upload with *Resumable Uploads for HTTP* (draft-ietf-httpbis-resumable-upload). The request creates the
    /// upload with its method, usually POST.
    ///
    /// If the transport reports interim responses, as `CurlTransport` does, the creation carries the content, and a server that does not
    /// know the protocol takes it as a plain upload. Over other transports the creation has no content.
    /// - Parameters:
    ///   - record: The URL of the record: see `init(_:record:continuing:partSize:trustsOtherOrigins:)`.
    ///   - existing: The URL of an upload that has been created already; `nil` to create one.
    ///   - partSize: The most bytes of one request. With a checksum it is 8 MiB unless it is set. A lower limit of the server applies.
    ///   - checksum: The digest that each part carries in `Content-Digest` (RFC 9530). With `.sha1` and `.md5`, a part has at most
    ///     64 MiB. `nil` for none.
    ///   - trustsOtherOrigins: True to send the credential to an upload's URL of another origin.
    public static func draft(
        record: URL? = nil, continuing existing: URL? = nil, partSize: Int64? = nil, checksum: UploadChecksum? = nil,
        trustsOtherOrigins: Bool = false
    ) -> ResumableUpload {
        ResumableUpload(
            DraftProtocol(checksum: checksum), record: record, continuing: existing, partSize: partSize ?? checksum.map { _ in 8 << 20 },
            trustsOtherOrigins: trustsOtherOrigins)
    }
}
