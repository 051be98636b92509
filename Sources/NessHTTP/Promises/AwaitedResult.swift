/// The result of a call that runs in the task that awaits it. There is no promise, and no other task except for a flight that others may
/// join.
///
/// A canceled task, the deadline, a reset and `dropAllRequests()` end the call. `Call.end(with:isDrop:)` ends the call's current wait, so
/// the task continues immediately. Application code could ignore that. `RequestBuilder.awaited(_:)` therefore uses this class only if no
/// application code is awaited.
final class AwaitedResult<Value: Sendable>: CallOwner {
    private let call: Call
    private let makeValue: @Sendable (HTTPResponse) throws -> Value
    private let waiter = ValueWaiter<Value>()

    /// Makes the receiver of a call's result.
    /// - Parameters:
    ///   - call: The call, which has not started.
    ///   - value: Makes the value from the response.
    init(_ call: Call, value: @escaping @Sendable (HTTPResponse) throws -> Value) {
        self.call = call
        makeValue = value
    }

    /// Runs the call in the calling task, and returns its value.
    func run(by sender: any RequestSender) async throws -> Value {
        call.register(self, in: sender.pipeline.running)
        await withTaskCancellationHandler {
            await call.run { [sender] in try await sender.pipeline.send($0) }
        } onCancel: {
            drop()
        }
        // Another thread may have ended the call, and may be about to deliver the result.
        return try await waiter.wait()
    }

    func drop() { call.end(with: .failure(call.endError(.dropped, "dropped by the caller")), isDrop: true) }

    func settlement(by response: HTTPResponse) throws -> @Sendable () -> Void {
        let value = try makeValue(response)
        return { self.waiter.resume(.success(value)) }
    }

    func settle(failing error: any Error) { waiter.resume(.failure(error)) }
}
