import Foundation
import NessHTTP

let usage = """
    usage: mirror [--parallel COUNT] LIST FOLDER
    Downloads each URL of a list into a folder. A line of the list is a URL, and may have its file's SHA-256 digest behind it.
    The next run fetches what is missing or has changed, and continues the files that were cut off.
    Exit codes: 0 complete, 1 a file is missing, 2 wrong arguments.

    """

func write(_ text: String, to file: FileHandle) {
    try? file.write(contentsOf: Data(text.utf8))
}

func fail(_ text: String, code: Int32) -> Never {
    write("mirror: \(text)\n", to: .standardError)
    exit(code)
}

/// A line of the list.
struct Entry {
    let url: URL
    let name: String
    let digest: String?

    init?(_ line: Substring) {
        let words = line.split(separator: " ")
        guard words.count <= 2, let text = words.first, let url = URL(string: String(text)), url.host() != nil else { return nil }
        let name = url.lastPathComponent
        // A name shall not lead out of the folder.
        guard !["", ".", ".."].contains(name), !name.contains("/") else { return nil }
        (self.url, self.name, digest) = (url, name, words.dropFirst().first.map(String.init))
    }
}

func entries(of list: String) -> [Entry] {
    guard let text = try? String(contentsOfFile: list, encoding: .utf8) else { fail("\(list) cannot be read", code: 2) }
    var names: Set<String> = []
    return text.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("#") }.map { line in
        guard let entry = Entry(line) else { fail("not a line of a list: \(line)", code: 2) }
        guard names.insert(entry.name).inserted else { fail("two files are called \(entry.name)", code: 2) }
        return entry
    }
}

var parallel = 4
var words: [String] = []
var arguments = CommandLine.arguments.dropFirst()
while let argument = arguments.popFirst() {
    switch argument {
    case "-h", "--help":
        write(usage, to: .standardOutput)
        exit(0)
    case "--parallel":
        guard let count = arguments.popFirst().flatMap({ Int($0) }), count > 0 else { fail("--parallel needs a count\n\(usage)", code: 2) }
        parallel = count
    case _ where argument.hasPrefix("-"): fail("\(argument) is not an option\n\(usage)", code: 2)
    default: words.append(argument)
    }
}
guard words.count == 2 else { fail("a list and a folder are needed\n\(usage)", code: 2) }
let list = entries(of: words[0])
let folder = URL(filePath: words[1], directoryHint: .isDirectory)

let ness = Ness {
    $0.maximumConcurrentRequests = parallel
    $0.maximumConnectionsPerHost = parallel
    $0.retryControl = BackoffRetryControl(maxRetryCount: 4)
}
let downloads = list.map { entry in
    ness.get(entry.url).downloadRequestIfChanged(
        forSavedLocation: folder.appending(path: entry.name), expecting: entry.digest.map { .sha256($0) }, createsFolders: true)
}

let total = TotalProgress(of: downloads)

/// Writes one line over and over. The total is known when the last file has started.
func show(_ progress: TransferProgress) {
    let ended = downloads.count { $0.isCompleted }
    let part = progress.fractionCompleted.map { "\(Int($0 * 100)) % of " } ?? ""
    let bytes = progress.completedBytes.formatted(.byteCount(style: .file, spellsOutZero: false))
    write("\r\(ended) of \(list.count) files, \(part)\(bytes)\u{1B}[K", to: .standardError)
}

for await progress in total.progressUpdates { show(progress) }
var (fetched, unchanged, failures) = (0, 0, "")
for (entry, download) in zip(list, downloads) {
    switch await download.settled {
    case .success(.fetched): fetched += 1
    case .success(.unchanged): unchanged += 1
    case .failure(let error): failures += "mirror: \(entry.name): \(error)\n"
    }
}
// All bytes are there before the last files are checked and have their names.
show(total.progress)
write("\n" + failures, to: .standardError)
print("\(fetched) fetched, \(unchanged) unchanged, \(list.count - fetched - unchanged) failed")
exit(failures.isEmpty ? 0 : 1)
