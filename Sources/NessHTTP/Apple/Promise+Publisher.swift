#if canImport(Combine)
import Combine

extension Promise {
    /// The promise as a publisher of one value.
    ///
    /// A subscription does not start the promise, which already runs. Values arrive on the thread that settles the promise; `receive(on:)`
    /// moves them to a scheduler. Canceling a subscription drops the promise, unless someone else waits for it.
    public var publisher: AnyPublisher<Value, any Error> {
        Deferred { [self] () -> AnyPublisher<Value, any Error> in
            // Each subscriber has a separate promise, so that a cancellation does not affect the others.
            let subscription: Promise<Value> = then(on: .immediate) { (value: Value) -> Value in value }
            let future = Future<Value, any Error> { fulfil in
                // Combine does not document it, but fulfilling a future is safe from any thread.
                nonisolated(unsafe) let fulfil = fulfil
                subscription.finally(on: .immediate) { (value: Value?, error: (any Error)?) in
                    if let value {
                        fulfil(.success(value))
                    } else if let error {
                        fulfil(.failure(error))
                    }
                }
            }
            return future.handleEvents(receiveCancel: { subscription.drop() }).eraseToAnyPublisher()
        }
        .eraseToAnyPublisher()
    }
}
#endif
