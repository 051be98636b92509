import Foundation
import NessHTTP

/// One task of the list.
public struct TaskItem: Codable, Sendable, Equatable {
    /// The number by which the server knows the task.
    public let id: Int
    /// The text of the task.
    public let title: String
}

/// A file that belongs to a task.
public struct Attachment: Codable, Sendable, Equatable {
    /// The name of the file.
    public let name: String
    /// The length of the file in bytes.
    public let size: Int
}

/// A typed client of the tasks API. It logs in with its first request, and again when it has to.
public struct TasksClient: Sendable {
    let ness: Ness

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - baseURL: the address of the API, such as `https://api.example.com/v1`.
    ///   - user: the name of the user on whose behalf the client asks.
    ///   - password: the password of the user.
    ///   - now: the time of day, by which a token is renewed before it expires.
    ///   - configure: changes the manager's settings, such as its transport and its clock in a test.
    public init(
        baseURL: URL, user: String, password: String, now: @escaping @Sendable () -> Date = { Date() },
        configure: (inout Ness.Configuration) -> Void = { _ in }
    ) {
        ness = Ness {
            $0.baseURL = baseURL
            $0.retryControl = BackoffRetryControl(maxRetryCount: 3)
            $0.decodingErrors = APIProblem.self
            $0.authentication = RefreshableAuthentication(
                credential: Session?.none,
                isStale: { session in session.map { $0.expiry <= now() } ?? true }
            ) { session in
                session.map { ["Authorization": "Bearer \($0.tokens.access)"] } ?? [:]
            } renew: { session, ness in
                try await Session.renewing(session, login: ["user": user, "password": password], now: now, with: ness)
            }
            configure(&$0)
        }
    }

    /// Returns the tasks, page after page. The next page is fetched when the loop asks for it.
    public func pages() -> some AsyncSequence<[TaskItem], any Error> & Sendable {
        ness.pages(of: ness.get("tasks"), decoding: [TaskItem].self, next: .linkHeader)
    }

    /// Adds a task. A failure after which the server may have added it is not retried.
    public func add(title: String) async throws -> TaskItem {
        try await ness.post("tasks").set(jsonEncodable: ["title": title]).decoded(as: TaskItem.self)
    }

    /// Uploads a file to a task, as a form that is read from the disk while it is sent. `onProgress` gets a fraction from 0 to 1.
    public func attach(_ file: URL, to id: Int, onProgress: (Double) -> Void = { _ in }) async throws -> Attachment {
        let upload = ness.post("tasks", id, "attachments")
            .set(multipart: { form in form.append(file: file, named: "file") })
            .dataRequest(decoding: Attachment.self)
        // Unlike the closure of `RequestBuilder.onProgress`, the sequence has ended before the result is there.
        for await progress in upload.progressUpdates { progress.fractionCompleted.map(onProgress) }
        return try await upload.value
    }
}

/// The tokens of a login, and the time at which they are too old.
private struct Session: Sendable {
    struct Tokens: Decodable, Sendable {
        let access, refresh: String
        let expiresIn: Double
    }
    let tokens: Tokens
    let expiry: Date

    /// Refreshes a session. Logs in if there is no session, or if the server rejects its refresh token.
    static func renewing(_ session: Session?, login: [String: String], now: () -> Date, with ness: Ness) async throws -> Session {
        if let session {
            do {
                let tokens = try await ness.post("token").set(jsonEncodable: ["refresh": session.tokens.refresh]).decoded(as: Tokens.self)
                return Session(tokens: tokens, expiry: now() + tokens.expiresIn)
            } catch let error as NessError where error.response?.statusCode == 401 {}
        }
        let tokens = try await ness.post("login").set(jsonEncodable: login).decoded(as: Tokens.self)
        return Session(tokens: tokens, expiry: now() + tokens.expiresIn)
    }
}
