private var session: RefreshableAuthentication<Token> { stub() }
private var user: String { stub() }
private func saved() -> Token { stub() }
