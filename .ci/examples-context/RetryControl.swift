private var request: HTTPRequest { stub() }
