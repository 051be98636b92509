import NessHTTP

/// The task that the command line asks for.
enum Arguments {
    case tour
    case inspect
    case get(url: String, headers: HTTPHeaders)
    case download(url: String, headers: HTTPHeaders, file: String?, segments: Int)
    case upload(url: String, headers: HTTPHeaders, file: String, record: String?, isDraft: Bool)
    case help
    case wrong(String)

    static let usage = """
        usage: ness-demo                              a tour: a server, and requests to it
               ness-demo URL [--header 'Name: value']  send a GET, print status, headers and body
               ness-demo download URL [-o FILE] [--segments N] [--header 'Name: value']
                                                      save a file; Ctrl-C pauses, the same command goes on
               ness-demo upload URL -o FILE [--record FILE] [--draft] [--header 'Name: value']
                                                      send a file by tus or the IETF's draft; with a record the same command continues
               ness-demo inspect                      a page that shows requests live, and requests to look at
               ness-demo --help                       this
        """

    static func parse(_ arguments: [String]) -> Arguments {
        var url: String?
        var headers = HTTPHeaders()
        var file: String?
        var segments = 1
        var record: String?
        var isDraft = false
        if arguments == ["inspect"] { return .inspect }
        var rest = arguments[...]
        let downloads = rest.first == "download", uploads = rest.first == "upload"
        if downloads || uploads { rest.removeFirst() }
        while let argument = rest.popFirst() {
            switch argument {
            case "-h", "--help": return .help
            case "-H", "--header":
                guard let text = rest.popFirst() else { return .wrong("ness-demo: \(argument) needs a 'Name: value'") }
                guard let colon = text.firstIndex(of: ":"), colon != text.startIndex else {
                    return .wrong("ness-demo: not a 'Name: value': \(text.debugDescription)")
                }
                headers.add(String(text[text.index(after: colon)...].drop { $0 == " " }), for: String(text[..<colon]))
            case "-o", "--output":
                guard downloads || uploads, let name = rest.popFirst(), !name.isEmpty else {
                    return .wrong("ness-demo: \(argument) needs a download or an upload, and a file")
                }
                file = name
            case "--record":
                guard uploads, let name = rest.popFirst(), !name.isEmpty else {
                    return .wrong("ness-demo: --record needs an upload and a file")
                }
                record = name
            case "--draft" where uploads: isDraft = true
            case "--segments":
                guard downloads, let number = rest.popFirst().flatMap({ Int($0) }), (1...64).contains(number) else {
                    return .wrong("ness-demo: --segments needs a download and a number from 1 to 64")
                }
                segments = number
            case _ where argument.hasPrefix("-"): return .wrong("ness-demo: unknown option \(argument.debugDescription)")
            case _ where url != nil: return .wrong("ness-demo: only one URL, please: \(argument.debugDescription) is too much")
            default: url = argument
            }
        }
        if downloads {
            guard let url else { return .wrong("ness-demo: download needs a URL") }
            return .download(url: url, headers: headers, file: file, segments: segments)
        }
        if uploads {
            guard let url, let file else { return .wrong("ness-demo: upload needs a URL and a file") }
            return .upload(url: url, headers: headers, file: file, record: record, isDraft: isDraft)
        }
        if let url { return .get(url: url, headers: headers) }
        return headers.isEmpty ? .tour : .wrong("ness-demo: --header needs a URL")
    }
}
