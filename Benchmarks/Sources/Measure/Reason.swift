/// The reasons why figures miss their targets, as profiles show them. The page of results repeats those of the missed rows.
public enum Reason {
    /// The work of a request above the transport.
    public static let asyncFrames = """
        A GET takes one task and, as callgrind counts, some 75,000 instructions. No function leads the profile. The task switches 38 times
        between asynchronous functions, at a hundred instructions each, and allocates eight blocks of memory for their frames.
        """

    /// The requests in flight.
    public static let memory = """
        A pending request holds some 11 KiB, most of it frames of asynchronous functions, so 10,000 of them leave the processor's caches. No
        queue or table takes more steps for it: tests count the steps.
        """

    /// One request after the other.
    public static let wakeUps = """
        The request wakes libcurl's thread, and the response wakes the caller's. Each finds a core asleep, which takes some 20 µs on this
        machine, and runs with cold caches. Bare libcurl sleeps in the thread that sends, and wakes once.
        """

    /// Many requests over libcurl at once.
    public static let engine = """
        The transport spends 25 µs of a libcurl thread on a request, where bare libcurl takes 16 µs: a handle for each request, because libcurl
        before 8.1 must not use one twice, a look for bytes that came unasked, and the strings of the head and the measurements. Several
        threads make up for it, as far as nginx and the callers' tasks leave them a core.
        """

    /// One caller who awaits a promise.
    public static let awaitedPromise = """
        A promise is made around a task, so it costs the task, an object, and a link for the caller: 7 allocations instead of 3, and the
        caller's task is resumed by the promise, not by the end of the other task.
        """

    /// Five handlers of a value that is there.
    public static let hop = """
        Two thirds of the time stops and wakes threads: for the hop to a queue, and for the caller who awaits the end. A chain of tasks does
        the same. The promises themselves take nine allocations.
        """

    /// Five handlers against a future of an event loop.
    public static let anyThread = """
        A promise may be chained, settled and dropped on any thread, so a link takes its lock, and keeps the promise above for a drop. A future
        of an event loop does neither.
        """

    /// A gateway.
    public static let gateway = """
        AsyncHTTPClient shares its event loops with the server, so a request changes no thread there. Ness hands each over to libcurl's
        thread, or to the event loop, and back, and adds its own pipeline.
        """

    /// A GET over URLSession.
    public static let overURLSession = """
        The pipeline takes some 13 µs of CPU with warm caches, and more with those of a core that has slept, beside some 400 of the task.
        """

    /// A wait over URLSession on Linux.
    public static let waiting = """
        URLSession on Linux polls the new connection without a pause: a fault of FoundationNetworking, and a reason for `CurlTransport`.
        """
}
