/// Ends an exchange on behalf of the stage that takes its body. That stage finds it beneath the `NessError` that reaches it.
package protocol ExchangeInterruption: Error {}

/// Bytes come faster than they are taken: the exchange was given up before memory fills. What has been taken counts.
package struct ReceiverFellBehind: ExchangeInterruption {
    package init() {}
}
