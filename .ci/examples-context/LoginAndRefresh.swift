private var session: RefreshableAuthentication<Token> { stub() }
private var user: String { stub() }
private func saved() -> Token { stub() }
private var cache: HTTPCache { stub() }
private var userID: String { stub() }
