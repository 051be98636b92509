/// The reasons why other libraries are faster, by question, as far as profiles with `perf` and callgrind show them.
let reasons: [String: String] = [
    "64 concurrent GETs over HTTP/1.1": ofRequests,
    "CPU of 64 concurrent GETs over HTTP/1.1": ofRequests,
    "64 concurrent POSTs of 1 KiB over http": ofPosts,
    "CPU of 64 concurrent POSTs over http": ofPosts,
    "One POST after the other over http": ofPosts,
    "64 concurrent POSTs of 1 KiB over https": ofPosts,
    "CPU of 64 concurrent POSTs over https": ofPosts,
    "One POST after the other over https": ofPosts,
    "CPU of a GET while other requests wait for a response": """
    The reasons are the same as for 64 concurrent GETs. In addition, libcurl 7.88 searches its open connections whenever a request ends. With 3,000
    connections this adds 30 µs in some runs, and nothing in others, because the search stops when it finds the connection.
    """,
    "One GET after the other over HTTP/1.1": """
    Each request wakes libcurl's thread, and each response wakes the caller's thread. The C program waits in the thread that sends.
    """,
    "CPU while one request waits for a response": """
    The figure includes the cost of one request on a new connection.
    """,
    "Memory of a GET that waits for a response over HTTP/1.1": """
    libcurl accounts for part of this. The rest belongs to the caller's task, the call with its promise, and the engine.
    """,
    "Download of 1 GiB to a file": """
    curl reads and writes in one thread. In Ness, one thread reads and another writes the file, so that a slow disk does not keep the
    connection from being read. On two cores, both threads compete with the server.
    """,
    "Upload of 1 GiB from a file": """
    curl reads the file into libcurl's buffer. Ness reads it into a buffer, checks the length, and copies it to that of libcurl.
    """,
    "Latency at": """
    Each request and each response passes through two threads, libcurl's and the caller's. When both cores are busy, each of the threads
    waits for its turn. A download has another thread than the requests beside it: when they shared one, the median was 1.5 ms.
    """,
    "64 concurrent GETs over HTTP/2": ofHTTP2,
    "1,000 concurrent GETs over HTTP/2": ofHTTP2,
    "Peak memory of the process of a transfer": """
    The system's libcurl and the libraries that it loads, such as libcrypto and GnuTLS, take about 7 MiB.
    """,
    "Gateway on Hummingbird, 64 connections": ofGateways,
    "CPU of a gateway on Hummingbird": ofGateways,
    "Crawl of pages of 16 KiB, 16 at a time": """
    The server runs on the same machine, so a 304 saves no time on the network. For each page, the cache reads and verifies a file, and the
    manager processes a response.
    """,
    "Five handlers in a row, on the thread that has the value": """
    Any thread may chain, settle or drop a promise, so each link takes a lock. A SwiftNIO future belongs to one event loop.
    """,
    "Awaiting a value that is made in the background": """
    A promise adds an object to the task that makes the value, and a link for the caller.
    """,
    "10,000 callers who share one response": """
    Each caller is a request with its own observers, deadline and cancellation. A task that awaits another task has none of these.
    """,
]

/// The remarks below the tables, by the start of the question.
let notes: [String: String] = [
    "Latency at": """
    The requests arrive at a fixed rate, whether or not earlier ones have ended, and a latency counts from the time at which the request was
    due. 100 % is three quarters of what the slowest client reaches with 64 concurrent GETs. "p99.9" is the latency that one of 1,000 requests
    exceeds. A median of more than 20 ms means that the client fell behind, and says little else.
    """,
    "Memory of a GET that waits for a response over HTTP/1.1": """
    Growth of the process's memory per GET: the connection, libcurl's state and the request.
    """,
    "Instructions of a GET without a network": """
    Logs are at the level of warnings; the backends of metrics and traces discard what they receive. Counted by callgrind.
    """,
    "CPU of a GET without a network": """
    The transport responds immediately, so no thread waits.
    """,
    "Memory of a request that waits for a response": """
    The figure is what Ness itself allocates, without a network.
    """,
]

/// The reason that stands beside a question without one.
let notExplained = "Not explained yet."

/// The reasons why the cost of one grows with their number, by kind of work.
let reasonsOfGrowth: [String: String] = [
    "a caller that is dropped, the last caller first": """
    With 100 callers, many are dropped before their tasks have started, which takes less. From 1,000 on the cost stays the same.
    """,
    "Over sockets: a GET that waits for a second": """
    From 1,000 to 5,000, the time of AsyncHTTPClient grows as well. Each request has a connection, so the likely cause is the kernel's memory for
    5,000 sockets, which no longer fits the processor's caches.
    """,
    "a GET, with a group for each path": """
    Under callgrind, 10,000 requests take longer than a window of the circuit breaker, so each of them makes the state of its group again.
    """,
    "a download beside as many others": """
    The time is the kernel's: ext4 searches for an inode that was not in use a moment ago, and each download creates and removes files.
    With 100 a download takes 546,000 instructions, with 1,000 it takes 551,000.
    """,
]

private let ofPosts = """
    The reasons are the same as for 64 concurrent GETs. In addition, before a POST reuses an idle connection, Ness asks the system whether
    the server has closed it, and over TLS whether a notice of that has arrived. So fewer POSTs are lost.
    """

private let ofRequests = """
    Each GET is a task with several asynchronous functions, because Ness supports retries, redirects, authentication, caching, coalescing
    and deadlines. A GET takes about as many instructions as with AsyncHTTPClient. But it passes through two threads, libcurl's and the
    caller's, so it waits more often for a core and for memory. Before libcurl 8.1, `CurlTransport` needs a new handle for each request.
    """

private let ofHTTP2 = """
    Over HTTP/2, Ness and `curl --parallel` use libcurl 8.23. curl runs in one thread and delivers no response to a caller.
    """

private let ofGateways = """
    AsyncHTTPClient shares its event loops with the server, so a request stays on one thread. Ness passes it to libcurl's thread and back.
    """
