/// Whether a request may use a cellular connection.
enum AllowsCellularAccess: RequestOptionKey { static let defaultValue = true }

/// Tells a transport that the body of the response is taken as it arrives.
package struct BodyDelivery: Sendable, RequestOptionKey {
    package static let defaultValue: BodyDelivery? = nil
    /// Returns true while the exchange may end with `ReceiverFellBehind` when bytes arrive faster than they are taken.
    package let canAbandon: @Sendable () -> Bool
}

/// Tells a transport to hand on the body of the response as the server sent it, with its content coding. A transport of which
/// `Transport.keepsContentCoding` is false is never told so.
public enum KeepsContentCoding: RequestOptionKey {
    /// False: any content coding is removed.
    public static let defaultValue = false
}

/// Tells the mock of one request which attempt it answers, from 1.
package enum AttemptNumber: RequestOptionKey {
    package static let defaultValue = 1
}

/// A wire for one request alone, instead of the manager's. Such a request shares no exchange with others.
package enum OwnTransport: RequestOptionKey {
    package static let defaultValue: (any Transport)? = nil
}
