private struct Incoming: Sendable {
    let method, target: String, headers: HTTPHeaders, body: AsyncStream<Data>?, length: Int64?
}
private struct Outgoing: Sendable {
    func begin(_ status: Int, _ headers: HTTPHeaders) async throws {}
    func write(_ data: Data) async throws {}
    func end() async throws {}
}
private struct BadRequest: Error {}
