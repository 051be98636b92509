import Foundation
import NessHTTP
import NessLock
import NessTesting

/// Serves the page: the page itself, its stream of changes, the details of a request, and the export.
struct InspectorPages: Sendable {
    let records: RequestRecords
    let access: PageAccess
    private let epoch: Date

    init(records: RequestRecords, access: PageAccess) {
        (self.records, self.access) = (records, access)
        epoch = Date().addingTimeInterval(-(records.now / .seconds(1)))
    }

    func reply(to request: ReceivedRequest) -> Reply {
        guard access.accepts(request) else { return .text("This page needs its token.\n", status: 403, headers: PageAccess.headers()) }
        let parts = request.path.split(separator: "/")
        switch (request.method, parts.first, parts.count) {
        case (.get, nil, 0): return page()
        case (.get, "events", 1): return events()
        case (.get, "requests", 2): return details(parts[1])
        case (.post, "har", 1): return archive(request.body)
        case (.post, "clear", 1):
            records.clear()
            return .status(204, headers: PageAccess.headers())
        default: return .text("There is no such page.\n", status: 404, headers: PageAccess.headers())
        }
    }

    private func page() -> Reply {
        let nonce = String(UInt64.random(in: .min ... .max), radix: 36) + String(UInt64.random(in: .min ... .max), radix: 36)
        return .data(
            Data(InspectorPage.html(nonce: nonce).utf8), contentType: "text/html; charset=utf-8", headers: PageAccess.headers(nonce: nonce))
    }

    /// The changes as server-sent events. A batch is made when the one before has been sent, so a page that stops reading takes no memory.
    private func events() -> Reply {
        let fields = PageAccess.headers().map { "\($0.name): \($0.value)\r\n" }.joined()
        let last = Lock(0)
        return .script([
            .send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\(fields)\r\n"),
            .sendEach { [records, epoch] in
                var known = last.withLock { $0 }
                // Changes of a tenth of a second arrive together.
                if known > 0 { try await Task.sleep(for: .milliseconds(100)) }
                guard let changes = await records.changes(after: &known) else { return nil }
                last.withLock { [known] in $0 = known }
                return Data("data: ".utf8) + (try changes.json(now: records.now, epoch: epoch).encoded()) + Data("\n\n".utf8)
            },
        ])
    }

    private func details(_ number: Substring) -> Reply {
        guard let record = Int(number).flatMap({ records.records([$0]).first }) else {
            return .text("The request is no longer kept.\n", status: 404, headers: PageAccess.headers())
        }
        return .json(RequestSummary(record).details(), headers: PageAccess.headers())
    }

    private func archive(_ body: Data) -> Reply {
        guard let numbers = try? JSONDecoder().decode([Int].self, from: body) else {
            return .text("The body must be an array of numbers.\n", status: 400, headers: PageAccess.headers())
        }
        return .json(HTTPArchive(records.records(numbers), since: epoch), headers: PageAccess.headers())
    }
}

extension RequestRecords.Changes {
    fileprivate func json(now: Duration, epoch: Date) -> JSONValue {
        var batch: [String: JSONValue] = [
            "epoch": .string(epoch.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))), "now": now.json,
            "totals": totals.json,
            "requests": .array(
                records.map { record in
                    let summary = RequestSummary(record)
                    return summary.json(summary.redactor)
                }),
        ]
        if let kept { batch["kept"] = .array(kept.map { JSONValue($0) }) }
        return .object(batch)
    }
}

extension RequestRecords.Totals {
    fileprivate var json: JSONValue {
        [
            "requests": JSONValue(requests), "exchanges": JSONValue(exchanges), "joined": JSONValue(joined), "cached": JSONValue(cached),
            "retries": JSONValue(retries), "failed": JSONValue(failed), "bytesSent": JSONValue(bytesSent),
            "bytesReceived": JSONValue(bytesReceived),
        ]
    }
}
