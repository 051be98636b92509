import Measure

/// The end of the questions that were repeated with the newest libcurl: see `Benchmarks/run`.
private let repeated = ", newest libcurl"

/// Makes the top of the page: how Ness compares with AsyncHTTPClient, question by question, with both libcurls, and with URLSession.
func summary(_ questions: [Question]) -> String {
    let peer = "AsyncHTTPClient"
    func ratios(_ title: String) -> [String: Double] {
        let comparisons = questions.first { $0.title == title }?.comparisons(with: peer) ?? []
        return Dictionary(uniqueKeysWithValues: comparisons.map { ($0.variant, $0.ratio) })
    }
    func cell(_ ratio: Double?) -> String { ratio.map(figure) ?? "" }
    let rows = questions.filter { !$0.title.hasSuffix(repeated) }.flatMap { question in
        let again = ratios(question.title + repeated)
        return question.comparisons(with: peer).map { variant, ratio in
            // HTTP/2 needs the newer one in any case.
            question.title.hasSuffix("HTTP/2")
                ? [question.title + variant, "", cell(ratio)] : [question.title + variant, cell(ratio), cell(again[variant])]
        }
    }
    let session = questions.flatMap { $0.comparisons(with: "URLSession") }.map(\.ratio).min()
    return """
        This table compares the medians of Ness and \(peer). Above 1, Ness is better; a difference of up to 3% is a tie. The
        system's libcurl is Debian 12's, from 2023. With the newest libcurl, Ness is mostly ahead when many requests are concurrent. When
        requests run one after another, Ness is mostly behind, because each request passes through two threads; at a fixed rate, so are its
        highest latencies. Ness is better than URLSession in every measurement, by a factor of at least \(cell(session)).

        \(table(["", "the system's libcurl", "the newest libcurl"], rows))
        """
}
