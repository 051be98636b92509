import Foundation

extension HTTPHeaders {
    /// A value for `User-Agent` (RFC 9110, section 10.1.5) with this program's name and version, the operating system and the locale, such
    /// as `Shop/1.2 (Linux 6.1.0; en_GB)`.
    ///
    /// Ness does not send it by default: a request without the field is sent with the program's name, its version and the name of the
    /// system alone. To send it, set `$0.defaultHeaders["User-Agent"] = HTTPHeaders.standardUserAgent`.
    public static let standardUserAgent: String = {
        let system = ProcessInfo.processInfo.operatingSystemVersion
        let version = "\(system.majorVersion).\(system.minorVersion).\(system.patchVersion)"
        return userAgent(name: program.name, version: program.version, comment: "\(systemName) \(version); \(Locale.current.identifier)")
    }()

    /// The value of `User-Agent` that Ness's transports send if a request has none. The cache uses it for `Vary`.
    package static let defaultUserAgent = userAgent(name: program.name, version: program.version, comment: systemName)

    private static var program: (name: String, version: String?) {
        let information = Bundle.main.infoDictionary
        let name = information?["CFBundleName"] as? String ?? ProcessInfo.processInfo.processName
        return (name, information?["CFBundleShortVersionString"] as? String)
    }

    /// Makes a valid `User-Agent` from arbitrary words.
    package static func userAgent(name: String, version: String?, comment: String) -> String {
        func token(_ text: String) -> String {
            String(text.map { $0.isASCII && ($0.isLetter || $0.isNumber || "-._".contains($0)) ? $0 : "-" })
        }
        let safe = String(comment.map { $0.isASCII && !"()\\".contains($0) && ($0.asciiValue ?? 0) >= 32 && $0 != "\u{7F}" ? $0 : "-" })
        let product = token(name).isEmpty ? "Ness" : token(name)
        return product + (version.map { "/" + token($0) } ?? "") + " (\(safe))"
    }

    /// A value for `Accept-Language` (RFC 9110, section 12.5.4) with the user's preferred languages, such as `de-CH, en;q=0.9`.
    ///
    /// Ness does not send it by default, on any platform. To send it, set
    /// `$0.defaultHeaders["Accept-Language"] = HTTPHeaders.standardAcceptLanguage`. The cache then keeps a response for each language.
    public static var standardAcceptLanguage: String { acceptLanguage(of: Locale.preferredLanguages) }

    /// Makes the value of an `Accept-Language` field.
    /// - Parameter languages: The languages, the preferred one first. The first nine valid ones count.
    /// - Returns: A valid value; `*`, which means any language, if no language is valid.
    package static func acceptLanguage(of languages: [String]) -> String {
        let isTag = { (text: String) in !text.isEmpty && text.allSatisfy { $0 == "-" || $0.isASCII && ($0.isLetter || $0.isNumber) } }
        let tags = languages.map { $0.replacingOccurrences(of: "_", with: "-") }.filter(isTag)
        let weighted = tags.prefix(9).enumerated().map { index, tag in index == 0 ? tag : "\(tag);q=0.\(10 - index)" }
        return weighted.isEmpty ? "*" : weighted.joined(separator: ", ")
    }

    private static var systemName: String {
        #if os(macOS)
        "macOS"
        #elseif os(iOS)
        "iOS"
        #elseif os(tvOS)
        "tvOS"
        #elseif os(watchOS)
        "watchOS"
        #elseif os(visionOS)
        "visionOS"
        #else
        "Linux"
        #endif
    }
}
