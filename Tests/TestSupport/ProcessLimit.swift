#if os(Linux)
import Glibc
import Testing

/// Lowers a limit of the process while a closure runs. The limit holds for all that the process does and starts, so a test that needs it
/// has a process of its own.
package func withProcessLimit<Result>(_ kind: __rlimit_resource, _ limit: Int32, _ body: () async throws -> Result) async throws -> Result {
    let kind = __rlimit_resource_t(kind.rawValue)
    var before = rlimit()
    try #require(getrlimit(kind, &before) == 0)
    var limited = before
    limited.rlim_cur = rlim_t(limit)
    try #require(setrlimit(kind, &limited) == 0)
    defer { setrlimit(kind, &before) }
    return try await body()
}
#endif
