struct Row: Sendable {
    var key = ""
    var bytes: Data
    var url: String
    var expires: ContinuousClock.Instant
}

struct Table: Sendable {
    func row(_ key: String) async throws -> Row? { stub() }
    func set(_ key: String, _ row: Row) async throws {}
    func delete(where isDeleted: (Row) -> Bool) async throws {}
    func keys() async throws -> [String] { stub() }
}
