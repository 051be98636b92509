import Foundation

/// The context of a request on its way through the stages: the call that it belongs to, and what the stages above have added.
///
/// `HTTPNext` carries it. A stage that adds something passes a changed copy on, which the stages below see and those above do not.
struct CallContext: Sendable {
    /// The additions of the stages.
    struct Additions: Sendable {
        /// The identifier of the caller's request, or of the one that a hook or a redirect's decision put in its place.
        var requestID: Int
        /// The number of the attempt, from 1.
        var attempt = 1
        /// When the deadline passes, on the manager's clock; nil for none.
        var deadlineEnd: Duration?
        /// Judge the response, in order: the observers' verdict, then the caller's validators.
        var validators: [any ResponseValidator]
        /// Hears what the transport does.
        var activity: (any RequestActivity)?
        /// Tells the observers, if there are any.
        var observation: Observation?
        /// Takes the response's body as it arrives; nil has it collected.
        var sink: (any BodySink)?
        /// The right to an exchange with the host.
        var slot: ExchangePlace?
        /// The base URL that a credential of the manager's is for; nil where the manager added none.
        var credentialScope: URL?
        /// The values that a jar wrote into the `Cookie` field.
        var cookies: JarCookies?
        /// The callers of a shared exchange; nil where one caller has the exchange alone.
        var audience: (any IdleAudience)?
    }

    let call: Call
    /// Nil until a stage has added something: many calls need none of it before they share an exchange.
    private var box: CopyOnWriteBox<Additions>?

    init(_ call: Call) { self.call = call }

    private var additions: Additions {
        box?.fields
            ?? Additions(
                requestID: call.request.id, validators: call.choices.validators, activity: call.tracker, sink: call.choices.sink)
    }

    // Written out: a key path would take longer than the stage that asks.
    var requestID: Int { box?.fields.requestID ?? call.request.id }
    var attempt: Int { box?.fields.attempt ?? 1 }
    var deadlineEnd: Duration? { box?.fields.deadlineEnd }
    var validators: [any ResponseValidator] { box?.fields.validators ?? call.choices.validators }
    var activity: (any RequestActivity)? { if let box { box.fields.activity } else { call.tracker } }
    var observation: Observation? { box?.fields.observation }
    var sink: (any BodySink)? { if let box { box.fields.sink } else { call.choices.sink } }
    var slot: ExchangePlace? { box?.fields.slot }
    var credentialScope: URL? { box?.fields.credentialScope }
    var cookies: JarCookies? { box?.fields.cookies }
    var audience: (any IdleAudience)? { box?.fields.audience }

    /// A copy with changes. Not inlined, so that no frame of a stage has room for what is changed.
    @inline(never)
    func with(_ change: (inout Additions) -> Void) -> CallContext {
        var changed = additions
        change(&changed)
        var copy = self
        copy.box = CopyOnWriteBox(changed)
        return copy
    }

    /// The context of a request that takes the place of the caller's: all that the caller wants of the response holds for it.
    func replacing(by request: HTTPRequest) -> CallContext {
        request.id == requestID ? self : with { $0.requestID = request.id }
    }

    /// The context of a request that a loader makes itself, a login say, on behalf of this call: it has the call's environment and its place in
    /// the queue, and counts as the call's. Nothing that the caller wants of the response holds for it.
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
        }
    }

    /// The context of a call that goes on in the background for this one, which has been answered: its listeners hear nothing of it.
    func background(_ call: Call) -> CallContext {
        let mine = additions
        return CallContext(call).with { additions in
            additions.credentialScope = mine.credentialScope
            additions.cookies = mine.cookies
            additions.attempt = mine.attempt
        }
    }

    /// The context of an exchange that runs for several calls, which this one began: nothing of this caller's is in it but what equal
    /// requests have in common.
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
