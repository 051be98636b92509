// A soak: sequential and concurrent requests, and what they leave behind in memory. Fails if the last two thirds leave 16 MiB or more.
//   swift run -c release --package-path Benchmarks soak [REQUESTS]
import Foundation
import NessHTTP
import NessTesting

let total = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 30_000
let server = try await TestServer.start(recordsRequests: false) { request in
    request.path == "/redirect" ? .status(302, headers: ["Location": "/"]) : .data(Data(count: 1_024), contentType: "application/json")
}
let ness = Ness { $0.baseURL = server.url }

/// Resident memory in bytes.
func resident() throws -> Int {
    #if os(Linux)
    let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
    return (Int(pages[1]) ?? 0) * 4_096
    #else
    var info = mach_task_basic_info()
    var count = mach_msg_type_number_t(MemoryLayout<mach_task_basic_info>.size / MemoryLayout<natural_t>.size)
    _ = withUnsafeMutablePointer(to: &info) { pointer in
        pointer.withMemoryRebound(to: integer_t.self, capacity: Int(count)) {
            task_info(mach_task_self_, task_flavor_t(MACH_TASK_BASIC_INFO), $0, &count)
        }
    }
    return Int(info.resident_size)
    #endif
}

func run(_ requests: Int) async throws {
    for batch in 0..<(requests / 20) {
        let promises = (0..<20).map { index in
            switch (batch + index) % 10 {
            case 0: ness.httpRequest(.post, withUrl: "/").set(stringBody: "content").dataRequest()
            case 1: ness.httpRequest(.get, withUrl: "redirect").dataRequest()
            default: ness.httpRequest(.get, withUrl: "/").dataRequest()
            }
        }
        if batch % 5 == 0 { promises[7].drop() }
        for (index, promise) in promises.enumerated() where index != 7 {
            let result = try await promise.value
            precondition(result.message.statusCode == 200 && result.responseData.count == 1_024)
        }
    }
}

try await run(total / 3)
let before = try resident()
try await run(total - total / 3)
let grown = try resident() - before
print("\(total) requests; the last \(total - total / 3) left \(grown / 1_024) KiB, of \(before / 1_024) KiB before")
await server.stop()
exit(grown < 16 << 20 ? 0 : 1)
