import Foundation
import NessHTTP
import NessLock

/// Starts a request of each kind, and reads its outcome to the end.
struct RequestStarter: Sendable {
    let execution: Execution
    let id: Int
    let plan: RequestPlan

    func start(_ builder: RequestBuilder) -> Execution.Handle {
        switch plan.kind {
        case .data where plan.isAwaited: return awaited { try await builder.response() }
        case .data: return handle(of: builder.dataRequest()) { ($0.message, String(decoding: $0.message.body, as: UTF8.self)) }
        case .decoded:
            return handle(of: builder.dataRequest(decoding: String.self).withResponse()) { ($0.response, $0.value) }
        case .upload:
            let file = execution.folder.appending(path: "upload\(id)")
            try? Data("operation \(id)".utf8).write(to: file)
            return handle(of: builder.uploadRequest(forFileLocation: file)) {
                ($0.message, String(decoding: $0.message.body, as: UTF8.self))
            }
        case .download, .segments:
            let promise = builder.downloadRequest(
                forSavedLocation: execution.file(plan.file), segments: plan.kind == .segments ? 3 : 1)
            return handle(of: promise, pause: { promise.pause() }, resume: { promise.resume() }) { ($0.message, nil) }
        case .stream: return stream(builder)
        case .events: return events(builder)
        }
    }

    /// Sends a request that runs in the task which awaits it.
    private func awaited(_ send: @escaping @Sendable () async throws -> HTTPResponse) -> Execution.Handle {
        let task = Task { [self] in
            do {
                let response = try await send()
                execution.settle(id, response, String(decoding: response.body, as: UTF8.self), nil, nil)
            } catch {
                execution.settle(id, nil, nil, error, nil)
            }
        }
        return Execution.Handle(drop: { task.cancel() }, pause: {}, resume: {}, end: { await task.value })
    }

    private func handle<Value: Sendable>(
        of promise: Promise<Value>, pause: @escaping @Sendable () -> Void = {}, resume: @escaping @Sendable () -> Void = {},
        read: @escaping @Sendable (Value) -> (HTTPResponse?, String?)
    ) -> Execution.Handle {
        let end = promise.finally(on: .immediate) { [self] value, error in
            let (response, body) = value.map(read) ?? (nil, nil)
            let progress = (promise as? AnyProgress)?.progressAtTheEnd
            execution.settle(id, response, body, error, progress)
        }
        return Execution.Handle(drop: { promise.drop() }, pause: pause, resume: resume, end: { _ = try? await end.value })
    }

    /// Reads a stream in a task. A drop may come before the head, during the body or after it.
    private func stream(_ builder: RequestBuilder) -> Execution.Handle {
        let promise = builder.streamRequest()
        let task = Task { [self] in
            var body = Data()
            do {
                let result = try await promise.value
                let isWhole = try await read(result, promise, into: &body)
                execution.settle(id, result.message, isWhole ? text(body) : nil, nil, nil)
            } catch {
                execution.settle(id, nil, nil, error, nil)
            }
        }
        return Execution.Handle(drop: { promise.drop() }, pause: {}, resume: {}, end: { await task.value })
    }

    /// Reads a stream in the way that the plan says.
    /// - Returns: True if it was read to its end.
    private func read(_ result: StreamResult, _ promise: StreamPromise, into body: inout Data) async throws -> Bool {
        let reading = plan.reading ?? Reading()
        var count = 0
        for try await chunk in result.chunks {
            body.append(chunk)
            count += 1
            execution.world.didRead(chunk.count, id)
            if reading.pause > 0 { try? await Task.sleep(for: .milliseconds(reading.pause)) }
            guard count == reading.stopsAfter else { continue }
            switch reading.stop {
            case .waits: try? await Task.sleep(for: .milliseconds(reading.wait))
            case .leaves: return false
            case .drops:
                execution.noteDrop(id)
                promise.drop()
            }
        }
        return true
    }

    /// The text of a body, or the version of a large one.
    private func text(_ body: Data) -> String {
        guard plan.url.contains("large/") else { return String(decoding: body, as: UTF8.self) }
        return LargeBody.version(of: body).map { "large \($0)" } ?? "\(body.count) bytes"
    }

    /// Reads three events, over two connections.
    private func events(_ builder: RequestBuilder) -> Execution.Handle {
        let task = Task { [self] in
            var seen: [String] = []
            do {
                for try await event in builder.set(deadline: .seconds(100)).reconnectingEvents() {
                    seen.append(event.data)
                    if seen.count == 3 { break }
                }
                execution.settle(id, nil, seen.joined(separator: "\n"), nil, nil)
            } catch {
                execution.settle(id, nil, nil, error, nil)
            }
        }
        return Execution.Handle(drop: { task.cancel() }, pause: {}, resume: {}, end: { await task.value })
    }
}

/// The progress of a promise of any request.
protocol AnyProgress { var progressAtTheEnd: TransferProgress { get } }

extension RequestPromise: AnyProgress { var progressAtTheEnd: TransferProgress { progress } }
