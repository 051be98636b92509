private struct Comic: Decodable, Sendable {}
private struct Foo: Codable, Sendable {}

private var object: Foo { stub() }
private var urlRequest: URLRequest { stub() }
private var login: Login { stub() }
private var users: RequestBuilder { stub() }
private var jwt: Token { stub() }
private var accessToken: String { stub() }
private var company: Certificates { stub() }
private var identity: ClientIdentity { stub() }
private var ids: [Int] { stub() }
private var servers: [TestServer] { get { stub() } set {} }
private func login() async throws -> String { stub() }
private func refreshAccessToken() async throws -> String { stub() }
private func fetch(_ completion: @escaping @Sendable (User?, (any Error)?) -> Void) {}
