/// A request that sends a file and keeps the response in memory.
///
/// `@unchecked` as `RequestPromise` is: it adds nothing.
public final class UploadPromise: RequestPromise<DataResult>, @unchecked Sendable {}
