/// Hears what happens on the wire for one request while it runs.
package protocol RequestActivity: AnyObject, Sendable {
    /// An exchange begins.
    /// - Parameter attempt: The attempt that it belongs to, counted from 1.
    func requestDidStart(attempt: Int)
    /// Bytes of the request's body have left.
    /// - Parameters:
    ///   - bytes: The number of bytes that have left in all.
    ///   - total: The length of the body, if it is known.
    func requestDidSend(bytes: Int64, of total: Int64?)
    /// The head of the response has arrived.
    /// - Parameter statusCode: The status code.
    func requestDidReceiveHead(statusCode: Int)
    /// Bytes of the response's body have arrived.
    /// - Parameters:
    ///   - bytes: The number of bytes that have arrived in all.
    ///   - total: The length of the body, if it is known.
    func requestDidReceive(bytes: Int64, of total: Int64?)
}

extension RequestActivity {
    /// Ignores the head: its arrival also counts as the arrival of no bytes.
    package func requestDidReceiveHead(statusCode: Int) {}
}
