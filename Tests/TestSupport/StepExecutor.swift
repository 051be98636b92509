import Foundation
import NessLock
import NessPromise

/// Runs the jobs of its tasks only when told to, on the thread that tells it.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
package final class StepExecutor: TaskExecutor {
    private let jobs = Lock<[UnownedJob]>([])
    private let isLetGo = Lock(false)

    package init() {}

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        if isLetGo.withLock({ $0 }) { DispatchQueue.global().async { _ = self.run(atMost: .max) } }
    }

    /// Has all jobs run from now on, elsewhere.
    package func letGo() {
        isLetGo.withLock { $0 = true }
        DispatchQueue.global().async { _ = self.run(atMost: .max) }
    }

    package func run(atMost count: Int) -> Bool {
        var done = 0
        while done < count, let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
            job.runSynchronously(on: asUnownedTaskExecutor())
            done += 1
        }
        return done > 0
    }
}
