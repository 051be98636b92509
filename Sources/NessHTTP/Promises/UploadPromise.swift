/// A running request that sends a file, and collects the response in memory.
///
/// `@unchecked Sendable` like `RequestPromise`: the class adds no state.
public final class UploadPromise: RequestPromise<DataResult>, @unchecked Sendable {}
