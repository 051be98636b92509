private struct Token: Sendable { func withLock<Result>(_ body: (inout String) -> Result) -> Result { stub() } }
private var other: Ness { stub() }
private var token: Token { stub() }
