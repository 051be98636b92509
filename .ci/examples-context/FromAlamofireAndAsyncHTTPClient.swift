private struct Ends: RequestObserver {}

private var login: Login { stub() }
private var promise: UploadPromise { stub() }
private var token: Token { stub() }
private var stream: StreamResult { stub() }
#if canImport(Darwin)
private func decide(_ space: URLProtectionSpace) -> ServerTrustDecision { stub() }
#endif
