import Foundation

/// The context of a request in the pipeline: its call, and the additions of the stages above.
///
/// `HTTPNext` carries the context. A stage passes a changed copy to the stages below. The stages above keep the old one.
struct CallContext: Sendable {
    /// The additions of the stages.
    struct Additions: Sendable {
        /// The identifier of the caller's request, or of the request that a hook or a redirect decision put in its place.
        var requestID: Int
        /// The number of the attempt, counted from 1.
        var attempt = 1
        /// The time of the deadline, on the manager's clock; `nil` for no deadline.
        var deadlineEnd: Duration?
        /// The validators in the order in which they judge the response: the observers' verdict, then the caller's validators.
        var validators: [any ResponseValidator]
        /// Receives the events of the transport.
        var activity: (any RequestActivity)?
        /// Notifies the observers; `nil` if there are none.
        var observation: Observation?
        /// Takes the response's body as it arrives; `nil` to collect the body in memory.
        var sink: (any BodySink)?
        /// The slot that allows an exchange with the host.
        var slot: HostSlot?
        /// The base URL for which the manager's credential is valid; `nil` if the manager added no credential.
        var credentialScope: URL?
        /// The values that a cookie jar wrote into the `Cookie` field.
        var cookies: JarCookies?
        /// The hold on the exchange; `nil` above the idle timeout.
        var control: (any ExchangeControl)?
        /// The callers of a shared exchange; `nil` if the exchange has one caller.
        var audience: (any IdleAudience)?
    }

    let call: Call
    /// `nil` until a stage adds something. A call that joins a shared exchange often never needs it.
    private var box: CopyOnWriteBox<Additions>?

    init(_ call: Call) { self.call = call }

    private var additions: Additions {
        box?.fields
            ?? Additions(
                requestID: call.request.id, validators: call.choices.validators, activity: call.tracker, sink: call.choices.sink)
    }

    // Each property is written out. A subscript with a key path would take longer than the stage that reads it.
    var requestID: Int { box?.fields.requestID ?? call.request.id }
    var attempt: Int { box?.fields.attempt ?? 1 }
    var deadlineEnd: Duration? { box?.fields.deadlineEnd }
    var validators: [any ResponseValidator] { box?.fields.validators ?? call.choices.validators }
    var activity: (any RequestActivity)? { if let box { box.fields.activity } else { call.tracker } }
    var observation: Observation? { box?.fields.observation }
    var sink: (any BodySink)? { if let box { box.fields.sink } else { call.choices.sink } }
    var slot: HostSlot? { box?.fields.slot }
    var credentialScope: URL? { box?.fields.credentialScope }
    var cookies: JarCookies? { box?.fields.cookies }
    var control: (any ExchangeControl)? { box?.fields.control }
    var audience: (any IdleAudience)? { box?.fields.audience }

    /// Returns a copy with changes. Not inlined: the async frame of a stage would otherwise have room for all additions.
    @inline(never)
    func with(_ change: (inout Additions) -> Void) -> CallContext {
        var changed = additions
        change(&changed)
        var copy = self
        copy.box = CopyOnWriteBox(changed)
        return copy
    }

    /// Returns the context of a request that replaces the caller's. Validators, sink and decoder of the caller apply to its response.
    func replacing(by request: HTTPRequest) -> CallContext {
        request.id == requestID ? self : with { $0.requestID = request.id }
    }

    /// Returns the context of a request that a loader makes itself on behalf of this call, such as a login.
    ///
    /// The request has the call's environment and slot, and its attempts and bytes count as the call's. Validators, sink and kind of the
    /// caller do not apply to its response.
    @inline(never)
    func own(_ request: HTTPRequest) -> CallContext {
        var choices = Call.Choices()
        choices.environment = call.choices.environment
        choices.jsonDecoder = call.choices.jsonDecoder
        choices.epoch = call.choices.epoch
        choices.groups = call.choices.groups
        let own = CallContext(Call(request.inheriting(from: call.request), choices, tracker: call.tracker))
        let mine = additions
        return own.with { additions in
            additions.attempt = mine.attempt
            additions.activity = mine.activity
            additions.observation = mine.observation
            additions.slot = mine.slot
            additions.control = mine.control
        }
    }

    /// Returns the context of a call that continues in the background after this call was answered. The listeners of this call get no
    /// events.
    func background(_ call: Call) -> CallContext {
        let mine = additions
        return CallContext(call).with { additions in
            additions.credentialScope = mine.credentialScope
            additions.cookies = mine.cookies
            additions.attempt = mine.attempt
        }
    }

    /// Returns the context of a shared exchange that this call begins. It contains only what equal requests have in common.
    func shared(_ call: Call, exchange: any RequestActivity & IdleAudience) -> CallContext {
        let mine = additions
        return CallContext(call).with { additions in
            additions.activity = exchange
            additions.audience = exchange
            additions.credentialScope = mine.credentialScope
            additions.cookies = mine.cookies
            additions.validators = mine.validators
            additions.attempt = mine.attempt
        }
    }
}
