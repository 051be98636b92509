import Foundation
import NessHTTP
import NessTesting

extension ConformanceFault {
    /// Faults in the request.
    static let requests: [ConformanceFault] = [
        .request("sends another method", fails: ["contract.method"]) { if $0.method == .custom("BREW") { $0.method = .post } },
        .request("sends the method in capitals", fails: ["contract.method-case"]) {
            $0.method = .custom($0.method.rawValue.uppercased())
        },
        .request("decodes the path", fails: ["contract.target"]) { request in
            request.url = URL(string: request.url.absoluteString.replacingOccurrences(of: "%7E", with: "~")) ?? request.url
        },
        .request("sends a Host without the port", fails: ["contract.host"]) { $0.headers["Host"] = $0.url.host },
        .request("leaves out empty fields", fails: ["contract.fields"]) { request in
            for field in request.headers where field.value.isEmpty { request.headers.remove(field.name) }
        },
        .request("sends one of several fields", fails: ["contract.repeated-fields"]) { request in
            if let last = request.headers.values(for: "X-Twice").last { request.headers["X-Twice"] = last }
        },
        .request("sorts the fields", fails: ["contract.order-of-fields"]) { request in
            var sorted = HTTPHeaders()
            for field in request.headers.sorted(by: { $0.name.lowercased() < $1.name.lowercased() }) {
                sorted.add(field.value, for: field.name)
            }
            request.headers = sorted
        },
        .request("adds a field", fails: ["contract.added-fields"]) { $0.headers["X-Added"] = "1" },
        .request("announces a body that there is not", fails: ["contract.absent-body", "contract.added-fields"]) {
            if $0.method == .get { $0.headers["Content-Length"] = "0" }
        },
        .request("sends another Content-Type", fails: ["bodies.fields", "bodies.multipart"]) {
            if $0.body != nil { $0.headers["Content-Type"] = "text/z" }
        },
        .request("cuts a file", fails: ["bodies.file", "bodies.file-length", "bodies.multipart"]) { request in
            guard let body = request.body, body.data == nil, let whole = try? body.whole() else { return }
            request.body = HTTPBody(whole.dropLast(), headers: body.headers)
        },
        .request("sends a file that became shorter", fails: ["bodies.shrinking-file"]) { request in
            guard let body = request.body, body.data == nil, (try? body.whole()) == nil else { return }
            request.body = HTTPBody(Data("short".utf8))
        },
        .request("sends large bodies in chunks", fails: ["bodies.memory", "bodies.file-length", "bodies.progress"]) { request in
            if request.body?.length ?? 0 > 1 << 20 { request.headers["Transfer-Encoding"] = "chunked" }
        },
        .request("keeps a coding that it requested by itself", fails: ["contract.own-codings"]) { request in
            guard request.headers["Accept-Encoding"] == nil, request.method == .get else { return }
            request.headers["Accept-Encoding"] = "gzip"
            request[KeepsContentCoding.self] = true
        },
        .request("decodes what should keep its coding", fails: ["contract.kept-coding"]) { $0[KeepsContentCoding.self] = false },
    ]

    /// Faults in the events of a response.
    static let responses: [ConformanceFault] = [
        .events(
            "reports the head twice",
            fails: ["contract.events", "contract.empty-body", "contract.interim", "framing.trailers", "cancel.inside-receive"]
        ) { _, event in
            if case .head = event { [event, event] } else { [event] }
        },
        .events("reports interim heads", fails: ["contract.interim"]) { _, event in
            guard case .head(_, let headers) = event, headers["Content-Length"] == "15", headers.contains("Content-Type") else {
                return [event]
            }
            return [.head(statusCode: 100, headers: [:]), event]
        },
        .head("loses a field", fails: ["contract.no-body", "contract.order-of-response-fields"]) { $1.remove("X-A") },
        .head("fails for an error status", fails: ["contract.statuses", "contract.challenges"]) { statusCode, _ in
            if statusCode >= 400 { throw TransportError(.malformedResponse, "the status is \(statusCode)") }
        },
        .head("loses empty fields", fails: ["contract.response-fields"]) { _, headers in
            for field in headers where field.value.isEmpty { headers.remove(field.name) }
        },
        .head("reports the first line of a folded field", fails: ["contract.folded-field"]) { _, headers in
            if let folded = headers["X-Fold"] { headers["X-Fold"] = String(folded.prefix(3)) }
        },
        .head("joins cookies", fails: ["contract.set-cookie"]) { _, headers in
            if let joined = headers["Set-Cookie"] { headers["Set-Cookie"] = joined }
        },
        .head("sorts the response's fields", fails: ["contract.order-of-response-fields"]) { _, headers in
            var sorted = HTTPHeaders()
            for field in headers.sorted(by: { $0.name < $1.name }) { sorted.add(field.value, for: field.name) }
            headers = sorted
        },
        .head("refuses long heads", fails: ["contract.large-head"]) { _, headers in
            if headers.count > 50 { throw TransportError(.malformedResponse, "too many fields") }
        },
    ]
}

extension HTTPBody {
    /// Reads the whole body.
    func whole() throws -> Data {
        var whole = Data()
        let reader = makeReader()
        while case let piece = try reader.read(upTo: 1 << 20), !piece.isEmpty { whole += piece }
        return whole
    }
}
