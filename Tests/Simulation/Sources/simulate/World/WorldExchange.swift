import Foundation
import NessHTTP

/// One exchange with the world: the response that a resource gives, and the fault that it meets.
struct WorldExchange {
    let world: World
    let connection: Connection
    let manager: Int
    let origin: String
    let operation: Int
    let fault: Fault

    private struct Answer {
        var status = 200
        var headers: HTTPHeaders = [:]
        var body = ""
    }

    private var request: HTTPRequest { connection.request }
    private var path: [String] { request.url.path.split(separator: "/").map(String.init) }

    func run() async throws {
        try await beforeTheServer()
        try await connection.wait(.milliseconds(fault == .delayed ? 3_000 : 10))
        if let refusal { return try await respond(refusal) }
        if path.first == "large", request.method == .get { return try await sendLargeBody() }
        let answer = fault.isPart ? part(of: answer()) : answer()
        switch fault {
        case .lostAfter: throw TransportError.connectionLost
        case .lostInHead: throw TransportError.malformedResponse
        case .stalledAfter: try await connection.waitForEver()
        case .status500: return try await respond(Answer(status: 500, body: "failed"))
        case .interim, .interimForLong:
            for _ in 0..<(fault == .interim ? 2 : 8) {
                try await connection.report(.interim(statusCode: 102, headers: [:]))
                try await connection.wait(.milliseconds(fault == .interim ? 1 : 400))
            }
        default: break
        }
        try await respond(answer)
    }

    private func beforeTheServer() async throws {
        switch fault {
        case .offline: throw TransportError.offline
        case .refused: throw TransportError.cannotConnect
        case .tls: throw TransportError.tls
        case .unsent, .closedOnUse:
            var error = TransportError.connectionLost
            error.repetition = .always
            throw error
        default: break
        }
        if let length = request.body?.length, length > 0 { try await connection.report(.sent(length)) }
        try await connection.wait(.milliseconds(1))
        switch fault {
        case .lostBefore: throw TransportError.connectionLost
        case .malformed: throw TransportError.malformedResponse
        case .timedOut:
            try await connection.wait(.seconds(2))
            throw TransportError.timedOut
        case .stalledBefore: try await connection.waitForEver()
        default: break
        }
    }

    /// The response of a server that does not process the request.
    private var refusal: Answer? {
        switch fault {
        case .status408: Answer(status: 408)
        case .status408Stale: Answer(status: 408, headers: ["Connection": "close"])
        case .status421: Answer(status: 421)
        case .status425: Answer(status: 425)
        case .status429: Answer(status: 429)
        case .status429RetryAfter: Answer(status: 429, headers: ["Retry-After": "2"])
        case .status429Date: Answer(status: 429, headers: ["Retry-After": "Fri, 15 Jan 2027 08:00:03 GMT"])
        case .status502: Answer(status: 502)
        case .status503: Answer(status: 503)
        case .status503RetryAfter: Answer(status: 503, headers: ["Retry-After": "1"])
        case .status504: Answer(status: 504)
        default: nil
        }
    }

    // MARK: the resources

    private func answer() -> Answer {
        switch path.first {
        case "redirect": return redirect()
        case "token": return Answer(body: world.token(for: path.dropFirst().first.flatMap { Int($0) } ?? 0))
        case "file": return file()
        case "events":
            return Answer(headers: ["Content-Type": "text/event-stream"], body: "id: 1\ndata: \(origin)\n\nretry: 600\ndata: two\n\n")
        default: return resource()
        }
    }

    private func redirect() -> Answer {
        guard path.count > 4, let status = Int(path[1]) else { return Answer(status: 404) }
        // A 303 answers a request that the server has acted on, and so do 301 and 302 where they turn a POST into a GET.
        let becomesGet = status == 303 ? !request.method.isSafe : request.method == .post && status < 303
        if becomesGet { _ = world.act(operation, on: "\(origin)\(request.url.path)") }
        let target = "\(path[2])://\(path[3])/\(path.dropFirst(4).joined(separator: "/"))"
        return Answer(status: status, headers: ["Location": target])
    }

    private func resource() -> Answer {
        let address = "\(origin)\(request.url.path)"
        var user: Int?
        if ["private", "mine"].contains(path.first) { user = world.user(of: request.headers["Authorization"]) }
        let needsUser = path.first == "private" || path.first == "mine" && request.headers.contains("Authorization")
        if needsUser, user == nil { return Answer(status: 401, headers: ["WWW-Authenticate": "Bearer"]) }
        let version = request.method.isSafe ? world.version(address) : world.act(operation, on: address)
        let body = Delivered(address, version, user ?? World.nobody)
        var headers: HTTPHeaders = ["ETag": "\"\(version)-\(body.user)\"", "Content-Type": "text/plain"]
        headers["X-Serial"] = "\(world.respond(to: manager))"
        switch path.first {
        case "fresh", "mine": headers["Cache-Control"] = "max-age=2, stale-if-error=10"
        case "varies": headers["Cache-Control"] = "max-age=2, stale-while-revalidate=2"
        case "private": headers["Cache-Control"] = "private, max-age=2"
        default: headers["Cache-Control"] = "no-cache"
        }
        if path.first == "varies" { headers["Vary"] = "Accept-Language" }
        // A response that sets a cookie is not written to disk.
        if path.first == "resource" {
            let cookie = "id=host-\(request.url.host ?? "")-m\(manager)"
            headers.add(cookie + (origin.hasPrefix("https") ? "-secure; Secure; Path=/" : "; Path=/"), for: "Set-Cookie")
        }
        if request.method.isSafe, request.headers["If-None-Match"] == headers["ETag"] { return Answer(status: 304, headers: headers) }
        return ranged(body.text, headers)
    }

    /// The whole content, or the range of it that the request asks for.
    private func ranged(_ whole: String, _ headers: HTTPHeaders) -> Answer {
        var headers = headers
        guard request.method == .get, request.headers["If-Range"] ?? headers["ETag"] == headers["ETag"],
            let range = request.headers["Range"]?.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false),
            let start = Int(range[0])
        else { return Answer(headers: headers, body: whole) }
        guard start < whole.utf8.count else { return Answer(status: 416, headers: ["Content-Range": "bytes */\(whole.utf8.count)"]) }
        let end = min(Int(range[1]) ?? .max, whole.utf8.count - 1)
        headers["Content-Range"] = "bytes \(start)-\(end)/\(whole.utf8.count)"
        return Answer(status: 206, headers: headers, body: String(whole.dropFirst(start).prefix(end - start + 1)))
    }

    /// A 206 in place of a success, which does not match the request.
    private func part(of whole: Answer) -> Answer {
        let count = whole.body.utf8.count
        guard [200, 206].contains(whole.status), count > 20 else { return whole }
        var part = whole
        part.status = 206
        switch fault {
        case .partWithoutRange:
            part.headers["Content-Range"] = nil
            part.body = String(whole.body.prefix(count / 2))
        case .partElsewhere:
            part.headers["Content-Range"] = "bytes 10-\(count - 1)/\(count)"
            part.body = String(whole.body.dropFirst(10))
        case .partOfOther: part.headers["Content-Range"] = "bytes 0-\(count - 1)/\(count - 5)"
        case .partShort:
            part.headers["Content-Range"] = whole.headers["Content-Range"] ?? "bytes 0-\(count - 1)/\(count)"
            part.body = String(whole.body.prefix(count / 2))
        default:
            part.headers["Content-Range"] = "bytes 0-\(count / 2 - 1)/\(count)"
            part.body = String(whole.body.prefix(count / 2))
        }
        return part
    }

    /// A file that changes now and then.
    private func file() -> Answer {
        let address = "\(origin)\(request.url.path)"
        if world.exchangeCount % 11 == 0 { _ = world.act(0, on: address) }
        let version = world.version(address)
        return ranged(SimulatedFile.content(version), ["ETag": "\"\(version)\"", "Accept-Ranges": "bytes"])
    }

    /// Sends a body that is larger than what may wait for its reader. It has a new version now and then.
    private func sendLargeBody() async throws {
        let address = "\(origin)\(request.url.path)"
        if world.exchangeCount % 5 == 0 { _ = world.act(0, on: address) }
        let version = world.version(address)
        if fault == .status500 { return try await respond(Answer(status: 500, body: "failed")) }
        try await connection.report(
            .head(statusCode: 200, headers: ["Content-Length": "\(LargeBody.chunk * LargeBody.chunkCount)", "ETag": "\"\(version)\""]))
        if fault == .lostAfterHead { throw TransportError.connectionLost }
        for index in 0..<LargeBody.chunkCount {
            try await connection.report(.body(LargeBody.piece(index, version)))
            world.didAccept(LargeBody.chunk, operation)
            if fault == .slowBody { try await connection.wait(.milliseconds(100)) }
            guard index == LargeBody.chunkCount * 3 / 4 else { continue }
            if fault == .truncated { throw TransportError.truncated }
            if fault == .stalledInBody { try await connection.waitForEver() }
        }
        if fault == .lostAtTheEnd { throw TransportError.connectionLost }
    }

    // MARK: the response

    private func respond(_ answer: Answer) async throws {
        var headers = answer.headers
        if answer.status != 304 { headers["Content-Length"] = "\(answer.body.utf8.count)" }
        try await connection.report(.head(statusCode: answer.status, headers: headers))
        if fault == .lostAfterHead { throw TransportError.connectionLost }
        guard request.method != .head, !answer.body.isEmpty else { return }
        var rest = Array(answer.body.utf8)[...]
        let size = fault == .slowBody ? max(1, rest.count / 4) : max(1, rest.count / 2)
        let half = rest.count / 2
        while !rest.isEmpty {
            try await connection.report(.body(Data(rest.prefix(size))))
            rest = rest.dropFirst(size)
            if fault == .slowBody { try await connection.wait(.milliseconds(300)) }
            if rest.count <= half, !rest.isEmpty {
                if fault == .truncated { throw TransportError.truncated }
                if fault == .stalledInBody { try await connection.waitForEver() }
            }
        }
        if fault == .lostAtTheEnd { throw TransportError.connectionLost }
    }
}
