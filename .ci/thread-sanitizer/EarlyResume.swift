// Resumes continuations from another thread before their task has suspended, which is allowed. The thread sanitizer reports a data race
// between `UnsafeContinuation.resume` and the task that continues, whose next continuation takes the place of the one before:
//     swiftc -swift-version 6 -sanitize=thread EarlyResume.swift -o early-resume && ./early-resume
// When a newer toolchain reports nothing here, the line in `suppressions` can go.
import Foundation

// Neither function uses a lock or an atomic: they would order the two threads in the sanitizer's eyes.

func resumeEarly() async {
    await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
        Thread.detachNewThread { continuation.resume() }
        usleep(20_000)
    }
}

func resumeEarlyWithValue() async throws -> Int {
    let value: [Int] = try await withUnsafeThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: [1, 2, 3]) }
        usleep(20_000)
    }
    return value.count
}

var sum = 0
for _ in 0..<5 {
    await resumeEarly()
    sum += (try? await resumeEarlyWithValue()) ?? 0
}
print(sum)
