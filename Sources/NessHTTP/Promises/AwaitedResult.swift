/// The result of a call that runs in the task that awaits it: no promise is made, and no task but that of a flight that others may join.
///
/// Canceling the task drops the call, and so do its deadline, a reset and `dropAllRequests()`. `Call.end(with:)` ends the wait that the
/// call is in, so the task continues immediately. It may therefore await no code of the application, which could ignore the end:
/// `RequestBuilder.awaited(_:)` decides.
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
        call.register(self, in: sender.running)
        await withTaskCancellationHandler {
            await sender.run(call)
        } onCancel: {
            drop()
        }
        // Another thread may have ended the call, and be about to settle it.
        return try await waiter.wait()
    }

    func drop() { call.end(with: .failure(call.endError(.dropped, "dropped by the caller")), isDrop: true) }

    func settlement(by response: HTTPResponse) throws -> @Sendable () -> Void {
        let value = try makeValue(response)
        return { self.waiter.resume(.success(value)) }
    }

    func settle(failing error: any Error) { waiter.resume(.failure(error)) }
}
