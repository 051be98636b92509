import Foundation
import NessHTTP
import TasksClient

let usage = """
    usage: tasks [--base-url URL] list
           tasks [--base-url URL] add TITLE
           tasks [--base-url URL] attach ID FILE
    Lists and changes the tasks of a user, who is in the environment: TASKS_USER, TASKS_PASSWORD.
    Exit codes: 0 done, 1 failed, 2 wrong arguments.

    """

func write(_ text: String, to file: FileHandle) {
    try? file.write(contentsOf: Data(text.utf8))
}

func fail(_ text: String, code: Int32) -> Never {
    write("tasks: \(text)\n", to: .standardError)
    exit(code)
}

func run(_ words: [String], with client: TasksClient) async throws {
    switch (words.first, words.count) {
    case ("list", 1):
        for try await page in client.pages() {
            for task in page { print("\(task.id)\t\(task.title)") }
        }
    case ("add", 2):
        print("added \(try await client.add(title: words[1]).id)")
    case ("attach", 3):
        guard let id = Int(words[1]) else { fail("\(words[1]) is not a task's number", code: 2) }
        let attachment = try await client.attach(URL(filePath: words[2]), to: id) { fraction in
            write("\r\(Int(fraction * 100)) %", to: .standardError)
        }
        write("\n", to: .standardError)
        print("attached \(attachment.name), \(attachment.size) bytes")
    default:
        fail("there is no such command\n\(usage)", code: 2)
    }
}

var baseURL = "http://127.0.0.1:8080/"
var words: [String] = []
var arguments = CommandLine.arguments.dropFirst()
while let argument = arguments.popFirst() {
    switch argument {
    case "-h", "--help":
        write(usage, to: .standardOutput)
        exit(0)
    case "--base-url":
        guard let value = arguments.popFirst() else { fail("\(argument) needs a value\n\(usage)", code: 2) }
        baseURL = value
    case _ where argument.hasPrefix("-"): fail("\(argument) is not an option\n\(usage)", code: 2)
    default: words.append(argument)
    }
}
let environment = ProcessInfo.processInfo.environment
guard let user = environment["TASKS_USER"], let password = environment["TASKS_PASSWORD"] else {
    fail("TASKS_USER and TASKS_PASSWORD have to be set", code: 2)
}
guard let url = URL(string: baseURL) else { fail("\(baseURL) is not a URL", code: 2) }

do {
    try await run(words, with: TasksClient(baseURL: url, user: user, password: password))
} catch let error as NessError {
    if let problem = error.underlying as? APIProblem { fail("\(problem.detail ?? problem.title ?? "refused")\n\(error)", code: 1) }
    fail("\(error)", code: 1)
} catch {
    fail("\(error)", code: 1)
}
