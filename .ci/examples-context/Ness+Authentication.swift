private var token: Token { stub() }
