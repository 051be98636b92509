private func showAlert(_ error: any Error) {}

@MainActor private final class Screen {
    var title = ""
    var user: Promise<User> { stub() }
    var request: Promise<User> { stub() }
    var search: AnyPromise?
// The examples
}
