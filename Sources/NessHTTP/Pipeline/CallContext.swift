import Foundation

/// A request on its way: the call that it belongs to, and what the steps above have added.
///
/// The request is the caller's, or one that a loader of the application makes itself, such as a login. A step passes a changed copy to the
/// steps below. The steps above keep the old one.
struct CallContext: Sendable {
    /// A request that a loader makes itself on behalf of the call.
    private final class Side: Sendable {
        let request: HTTPRequest
        let policies: CallPolicies

        init(_ request: HTTPRequest, _ policies: CallPolicies) {
            self.request = request
            self.policies = policies
        }
    }

    let call: Call
    private var side: Side?
    /// The identifier of the caller's request, or of the request that a hook or a redirect decision put in its place.
    private(set) var requestID: Int
    /// The number of the attempt, counted from 1.
    var attempt = 1
    /// The base URL for which the manager's credential is valid; `nil` if the manager added no credential.
    var credentialScope: URL?
    /// The values that a cookie jar wrote into the `Cookie` field.
    var cookies: JarCookies?

    init(_ call: Call) {
        self.call = call
        requestID = call.request.id
    }

    /// The request that errors name.
    var request: HTTPRequest { side?.request ?? call.request }
    var policies: CallPolicies { side?.policies ?? call.policies }
    var validators: [any ResponseValidator] { side == nil ? call.validators : [] }
    /// True if a loader of the application made the request.
    var isSide: Bool { side != nil }

    /// Returns the context of a request that replaces the caller's. Validators, sink and decoder of the caller apply to its response.
    func replacing(by request: HTTPRequest) -> CallContext {
        var context = self
        context.requestID = request.id
        return context
    }

    /// Returns the context of a request that a loader passes on: the one that it was given, or one that it made itself. The call's
    /// environment applies to the latter, and its attempts and bytes count as the call's; the caller's validators, sink and kind do not.
    func passing(_ request: HTTPRequest) -> CallContext {
        if request.id == requestID { return self }
        var context = self
        context.side = Side(request.inheriting(from: call.request), call.policies.forSideRequest)
        context.requestID = request.id
        (context.credentialScope, context.cookies) = (nil, nil)
        return context
    }
}
