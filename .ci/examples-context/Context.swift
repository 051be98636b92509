// What the examples of all pages take for granted. Compiled, not run: see `.ci/examples`.

import Foundation
import NessHTTP
import NessTesting
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

func stub<Value>() -> Value { preconditionFailure("compiled, not run") }

struct User: Codable, Sendable, Equatable { var id: Int; var name: String }
struct Cat: Codable, Sendable { var name: String }
struct Order: Codable, Sendable { let id: Int }
struct Prompt: Codable, Sendable { let text: String }
struct Chunk: Codable, Sendable { let text: String }
struct Token: Codable, Sendable { let text, access, refresh: String; let expiry: Date }
struct Login: Codable, Sendable { let email: String }
struct Filter: Encodable, Sendable { var tags: [String]; var since: Date; var cursor: String? }
struct Answer: Codable, Sendable {}
struct Entry: Codable, Sendable {}
struct UserPage: Codable, Sendable { let users: [User], cursor: String? }
struct Profile: Sendable { let user: User, cats: [Cat] }
struct Overview: Sendable { let user: User, orders: [Order]? }
struct NotAFilm: Error {}
struct OldServer: Error {}
struct Draft: Error {}
struct TooLong: Error {}
struct Empty: Error {}
struct Stamp: HTTPLoader { func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse { try await next(request) } }
struct SigningLoader: HTTPLoader { func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse { try await next(request) } }
struct GetStatus: ConnectionSpec {
    struct ResponseModel: Codable, Sendable { let isDone: Bool }
    let url = "status"
}
extension TypedRequest where Response == User { static func user(_ id: Int) -> Self { stub() } }
struct Trace: Sendable { static let current: Trace? = nil; var header: String }
struct Writer { func write(_ data: Data) async throws {} }
struct Camera { let frames: AsyncStream<Data> }
actor KeyStore {
    let current = ""
    func replace(_ rejected: String?) throws -> Bool { stub() }
}
struct Sensor: Sendable { func start(_ report: @escaping @Sendable (Double) -> Void) {}; func stop() {} }
struct NameDecoder: ResponseDecoder { func decode(from data: Data) throws -> String { "" } }
struct Album: Sendable { func photos() async throws -> [URL] { [] } }
struct Database: Sendable {
    func save(_ user: User) async throws {}
    func rows(of query: String) -> AsyncStream<(csv: Data, Never?)> { stub() }
}
@MainActor final class Spinner { var isHidden = false; func stop() {} }
@MainActor final class Label { var text = "" }

var ness: Ness { stub() }
var request: RequestBuilder { stub() }
var response: HTTPResponse { stub() }
var result: DataResult { stub() }
var mock: MockTransport { stub() }
var server: TestServer { stub() }
var clock: ManualClock { stub() }
var download: DownloadPromise { stub() }
var promise: Promise<String> { stub() }
var form: MultipartForm { get { stub() } set {} }
var user: User { stub() }
var first: Promise<User> { stub() }
var other: Promise<User> { stub() }
var second: Promise<[Cat]> { stub() }
var name: Promise<String> { stub() }
var downloads: [DownloadPromise] { stub() }
var configuration: Ness.Configuration { get { stub() } set {} }
var files: [(name: String, url: URL)] { stub() }
var camera: Camera { stub() }
var transport: any Transport { stub() }
var queue: DispatchQueue { stub() }
var signer: Signer { stub() }
var order: Order { stub() }
var filter: Filter { stub() }
var prompt: Prompt { stub() }
var album: Album { stub() }
var entries: [User] { stub() }
var frames: AsyncStream<Data> { stub() }
var data: Data { stub() }
var jpeg: Data { stub() }
var date: Date { stub() }
var yesterday: Date { stub() }
var url: URL { stub() }
var urls: [URL] { stub() }
var chainFile: URL { stub() }
var file: URL { stub() }
var keyFile: URL { stub() }
var film: URL { stub() }
var record: URL { stub() }
var photo: URL { stub() }
var photos: URL { stub() }
var folder: URL { stub() }
var baseURL: URL { stub() }
var staging: URL { stub() }
var stagingToken: String { stub() }
var proxyURL: URL { stub() }
var id: String { stub() }
var token: String { stub() }
var trace: String { stub() }
var device: String { stub() }
var password: String { stub() }
var digest: String { stub() }
var text: String { stub() }
var key: String { stub() }
var query: String { stub() }
var cursor: String? { stub() }
var size: Int64 { stub() }
var pin: String { stub() }
var host: String { stub() }
var spinner: Spinner { stub() }
var label: Label { stub() }
var database: Database { stub() }
var certificates: Certificates { stub() }
var error: any Error { stub() }

func show(_ value: Any) {}
func login() async throws -> String { stub() }
func load(_ url: URL) async throws -> Data { stub() }
func now() -> String { stub() }
func span() -> String { stub() }
func traceparent() -> String { stub() }

struct Part: Decodable, Sendable { let type: String }

struct Signer {
    func presignedURL(bucket: String, key: String) async throws -> URL { stub() }
}

struct MyTransport: Transport {
    init(trusting pem: String = "") {}
    func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {}
}
