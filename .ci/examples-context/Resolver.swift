private struct Store { func load(completion: @escaping @Sendable (Result<Int, any Error>) -> Void) {} }
private var store: Store { stub() }
private var resolver: Resolver<Int> { stub() }
