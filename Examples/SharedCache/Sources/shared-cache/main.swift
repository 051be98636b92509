import Foundation
import NessHTTP
import RedisStorage

let usage = """
    usage: shared-cache [--redis HOST:PORT|PATH] [--token TOKEN] URL…
    Requests each URL, and prints the status, the source and the size of the response. Runs of this program share responses through Redis,
    which listens at 127.0.0.1:6379 by default. Requests with different tokens share none.
    Exit codes: 0 all requests got a response, 1 a request failed, 2 wrong arguments.

    """

func fail(_ text: String) -> Never {
    try? FileHandle.standardError.write(contentsOf: Data("shared-cache: \(text)\n\(usage)".utf8))
    exit(2)
}

var address = RedisAddress.host("127.0.0.1", port: 6_379)
var token: String?
var urls: [String] = []
var arguments = CommandLine.arguments.dropFirst()
while let argument = arguments.popFirst() {
    switch argument {
    case "-h", "--help":
        print(usage, terminator: "")
        exit(0)
    case "--redis":
        guard let value = arguments.popFirst() else { fail("--redis needs a value") }
        let parts = value.split(separator: ":", omittingEmptySubsequences: false)
        if value.hasPrefix("/") {
            address = .socket(path: value)
        } else if parts.count == 2, let port = UInt16(parts[1]) {
            address = .host(String(parts[0]), port: Int(port))
        } else {
            fail("\(value) is neither HOST:PORT nor the path of a socket")
        }
    case "--token":
        guard let value = arguments.popFirst() else { fail("--token needs a value") }
        token = value
    case _ where argument.hasPrefix("-"): fail("\(argument) is not an option")
    default: urls.append(argument)
    }
}
if urls.isEmpty { fail("there is no URL") }

let storage = RedisStorage(address)
let ness = Ness {
    // Without memory, a process does not find what another has removed.
    $0.cache = HTTPCache(memoryLimit: 0, storage: storage)
}
var hasFailed = false
for url in urls {
    do {
        var request = ness.get(url)
        if let token { request = request.set(header: "Authorization", to: "Bearer \(token)") }
        let response = try await request.response()
        print(response.statusCode, response.source, "\(response.body.count) bytes", url)
    } catch {
        hasFailed = true
        print("failed:", error)
    }
}
await ness.shutdown(within: .zero)
exit(hasFailed ? 1 : 0)
