import NessTesting

/// The checks that the transport does not pass over AsyncHTTPClient 1.37, with the reasons.
let knownLimits: [TransportConformance.ID: TransportConformance.KnownLimit] = {
    var limits: [TransportConformance.ID: TransportConformance.KnownLimit] = [
        "misbehavior.status-zero": .notRun("the client's state machine ends the process when a body follows the status 0"),
        "misbehavior.endless-status-line": .notRun("the client reads a reason phrase of any length, so the check does not end"),
        "misbehavior.endless-interims": .notRun("the client takes any number of interim responses, so the check does not end"),
        "cancel.in-handshake": .notRun("the client keeps opening a connection that nobody needs any more"),
    ]
    // The checks wait for an event while the body is being sent.
    for id: TransportConformance.ID in ["cancel.inside-receive", "receive.error"] {
        limits[id] = .notRun("the client does not tell how much of a body it has sent")
    }
    for check in TransportConformance.checks(in: .shutdown) {
        limits[check.id] = .notRun("the application shuts its client down, not the transport")
    }
    return limits
}()
