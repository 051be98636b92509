extension Misbehavior {
    /// Well-formed responses that mislead a client.
    static let semantics: [Misbehavior] = {
        let noRedirect = Expectation.successOrFailure(status: 302, body: "where")
        let who = Expectation.success(status: 401, body: "who")
        func answering(_ name: String, _ summary: String, expecting expectation: Expectation, _ reply: Reply) -> Misbehavior {
            Misbehavior(name, summary, expecting: expectation) { _ in [.serve { _ in reply }] }
        }
        return [
            answering(
                "redirect-to-itself", "Redirects every request to where it went.", expecting: .anyFailure,
                .status(302, headers: ["Location": "/"])),
            Misbehavior("redirect-without-end", "Redirects every request to a new place.", expecting: .anyFailure) { _ in
                [.serve { .status(307, headers: ["Location": "/\($0.target.utf8.count)/\($0.target.suffix(200))x"]) }]
            },
            answering(
                "redirect-without-location", "Redirects without saying where to.", expecting: noRedirect, .text("where", status: 302)),
            answering(
                "redirect-to-empty-location", "Redirects with an empty Location.", expecting: noRedirect,
                .text("where", status: 302, headers: ["Location": ""])),
            answering(
                "redirect-to-file", "Redirects to a local file.", expecting: noRedirect,
                .text("where", status: 302, headers: ["Location": "file:///etc/hostname"])),
            answering(
                "redirect-to-garbage", "Redirects to an invalid URL.", expecting: noRedirect,
                .text("where", status: 302, headers: ["Location": "http://[bad"])),
            answering(
                "unauthorized-basic", "Responds with 401 and a Basic challenge.", expecting: who,
                .text("who", status: 401, headers: ["WWW-Authenticate": "Basic realm=\"test\""])),
            answering(
                "unauthorized-without-challenge", "Responds with 401 without a challenge.", expecting: who, .text("who", status: 401)),
            answering(
                "unauthorized-broken-challenge", "Responds with 401 and a malformed challenge.", expecting: who,
                .text("who", status: 401, headers: ["WWW-Authenticate": "=,\"\\"])),
            answering(
                "proxy-authentication", "Responds with 407 although it is not a proxy.", expecting: .success(status: 407, body: "who"),
                .text("who", status: 407, headers: ["Proxy-Authenticate": "Basic realm=\"test\""])),
            answering(
                "partial-unasked", "Responds with 206 to a request without Range.", expecting: .success(status: 206, body: "ell"),
                .text("ell", status: 206, headers: ["Content-Range": "bytes 1-3/5"])),
            answering(
                "retry-after-garbage", "Responds with 503 and a Retry-After that is neither a number nor a date.",
                expecting: .success(status: 503, body: "busy"), .text("busy", status: 503, headers: ["Retry-After": "soon"])),
        ]
    }()
}
