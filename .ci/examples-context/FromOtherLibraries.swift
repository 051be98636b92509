private struct Token: Sendable { func withLock<Result>(_ body: (inout String) -> Result) -> Result { stub() } }
private var other: Ness { stub() }
private var token: Token { stub() }
private var task: Promise<User> { stub() }
private var savedToken: String { stub() }
