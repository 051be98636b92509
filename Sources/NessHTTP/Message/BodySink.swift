import Foundation

/// Takes the body of a response as it comes, instead of having it collected in memory.
package protocol BodySink: AnyObject, Sendable {
    /// Whether another attempt may begin: false once what came has been handed on.
    var isRestartable: Bool { get }
    /// Whether the exchange may end with `ReceiverFellBehind` when bytes come faster than they are taken.
    var mayFallBehind: Bool { get }
    /// Looks at a response's head. What it does not take is collected as usual.
    /// - Parameters:
    ///   - response: The response, still without a body.
    ///   - validators: The validators of the caller. The sink has them judge the head before it takes a byte.
    /// - Returns: True if the sink takes the body.
    /// - Throws: The error that ends the exchange. After `NessError.validation` the start of the body is collected for the error.
    func begin(_ response: HTTPResponse, judgedBy validators: [any ResponseValidator]) throws -> Bool
    /// Takes more of the body. Called in order, one call at a time.
    /// - Throws: What shall end the exchange.
    func write(_ data: Data) throws
    /// How many bytes of the whole there are by now, and how many there will be, if that is known.
    var progress: (completed: Int64, total: Int64?) { get }
}
