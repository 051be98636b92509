import Foundation
import NessHTTP

let usage = """
    usage: chat [--base-url URL] [--model NAME] PROMPT…
    Prints a model's answer while it arrives. The key is in the environment: OPENAI_API_KEY.
    Exit codes: 0 answered, 1 failed, 2 wrong arguments, 130 ended by Ctrl-C.

    """

struct Prompt: Encodable {
    struct Message: Encodable { let role, content: String }
    let model: String
    let stream = true
    let messages: [Message]
}

struct Chunk: Decodable, Sendable {
    struct Delta: Decodable { let content: String? }
    struct Choice: Decodable { let delta: Delta }
    let choices: [Choice]?
    let error: APIError.Reason?
}

/// An API error: the body of a response with a status of 4xx or 5xx, or an event in the middle of a reply.
struct APIError: Error, Decodable {
    struct Reason: Decodable { let message: String }
    let error: Reason
}

/// Retries only what the server has rejected unread, so no reply is paid for twice.
struct RateLimitRetry: RetryControl {
    let counter = CounterRetryControl(maxRetryCount: 4, timeIntervalBeforeTryToRetry: 1)
    func shouldRetry(_ attempt: FailedAttempt) async -> RetryControlDecision {
        attempt.response?.statusCode == 429 ? await counter.shouldRetry(attempt) : .noRetry
    }
}

func write(_ text: String, to file: FileHandle) {
    try? file.write(contentsOf: Data(text.utf8))
}

func fail(_ text: String, code: Int32) -> Never {
    write("chat: \(text)\n", to: .standardError)
    exit(code)
}

func answer(_ prompt: Prompt, from ness: Ness, key: String) async throws {
    let chunks = ness.post("chat/completions")
        .authenticate(with: .bearer(key))
        .set(jsonEncodable: prompt)
        .set(timeout: .seconds(120))
        .set(retry: RateLimitRetry())
        .decodingErrors(as: APIError.self)
        .events(decoding: Chunk.self, until: "[DONE]", requiresEnd: true)
    for try await chunk in chunks {
        if let reason = chunk.error { throw APIError(error: reason) }
        write(chunk.choices?.first?.delta.content ?? "", to: .standardOutput)
    }
}

var baseURL = "https://api.openai.com/v1"
var model = "gpt-4o-mini"
var words: [String] = []
var arguments = CommandLine.arguments.dropFirst()
while let argument = arguments.popFirst() {
    switch argument {
    case "-h", "--help":
        write(usage, to: .standardOutput)
        exit(0)
    case "--base-url", "--model":
        guard let value = arguments.popFirst() else { fail("\(argument) needs a value\n\(usage)", code: 2) }
        if argument == "--model" { model = value } else { baseURL = value }
    case _ where argument.hasPrefix("-"): fail("\(argument) is not an option\n\(usage)", code: 2)
    default: words.append(argument)
    }
}
guard !words.isEmpty else { fail("there is no prompt\n\(usage)", code: 2) }
guard let key = ProcessInfo.processInfo.environment["OPENAI_API_KEY"], !key.isEmpty else { fail("OPENAI_API_KEY is not set", code: 2) }
guard let url = URL(string: baseURL) else { fail("\(baseURL) is not a URL", code: 2) }

let ness = Ness { $0.baseURL = url }
let prompt = Prompt(model: model, messages: [.init(role: "user", content: words.joined(separator: " "))])
// Starts at the `await` below, because both run on the main actor. So Ctrl-C cannot come too early for the handler.
let conversation = Task { try await answer(prompt, from: ness, key: key) }

// Ctrl-C cancels the task, which closes the connection.
signal(SIGINT, SIG_IGN)
let interruption = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
interruption.setEventHandler { conversation.cancel() }
interruption.resume()

let result = await conversation.result
write("\n", to: .standardOutput)
if conversation.isCancelled { exit(130) }
do {
    try result.get()
} catch let refusal as APIError {
    fail(refusal.error.message, code: 1)
} catch {
    let refusal = (error as? NessError)?.underlying as? APIError
    fail(refusal.map { "\($0.error.message)\n\(error)" } ?? "\(error)", code: 1)
}
