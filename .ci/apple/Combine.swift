// The part of Combine that a promise's publisher uses. The SDK differs: each operator returns a different type.
public protocol Cancellable { func cancel() }

public protocol Subscription: Cancellable {}

public enum Subscribers {
    public enum Completion<Failure: Error> { case finished, failure(Failure) }
    public struct Demand {}
}

public protocol Publisher<Output, Failure> {
    associatedtype Output
    associatedtype Failure: Error
}

public final class AnyCancellable: Cancellable {
    public func cancel() {}
}

public struct AnyPublisher<Output, Failure: Error>: Publisher {}

public final class Future<Output, Failure: Error>: Publisher {
    public init(_ fulfil: @escaping (@escaping (Result<Output, Failure>) -> Void) -> Void) {}
}

public struct Deferred<Made: Publisher>: Publisher {
    public typealias Output = Made.Output
    public typealias Failure = Made.Failure
    public init(createPublisher: @escaping () -> Made) {}
}

public struct AsyncThrowingPublisher<Source: Publisher>: AsyncSequence, AsyncIteratorProtocol {
    public func makeAsyncIterator() -> Self { self }
    public mutating func next() async throws -> Source.Output? { nil }
}

extension Publisher {
    public func eraseToAnyPublisher() -> AnyPublisher<Output, Failure> { fatalError() }
    public var values: AsyncThrowingPublisher<Self> { fatalError() }
    public func sink(
        receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void, receiveValue: @escaping (Output) -> Void
    ) -> AnyCancellable { fatalError() }
    public func handleEvents(
        receiveSubscription: ((any Subscription) -> Void)? = nil, receiveOutput: ((Output) -> Void)? = nil,
        receiveCompletion: ((Subscribers.Completion<Failure>) -> Void)? = nil, receiveCancel: (() -> Void)? = nil,
        receiveRequest: ((Subscribers.Demand) -> Void)? = nil
    ) -> some Publisher<Output, Failure> { eraseToAnyPublisher() }
}
