import Foundation
import NessHTTP

/// The transport that a benchmark measures, as its argument `--transport` says.
public enum Engine: String, Sendable {
    case curl, urlsession

    /// Reads and removes `--transport NAME` from a list of arguments. Ends the program if the name is not known, or not to be had here.
    public static func read(from arguments: inout [String]) -> Engine {
        guard let index = arguments.firstIndex(of: "--transport") else { return platformDefault }
        let name = index + 1 < arguments.count ? arguments[index + 1] : ""
        guard let engine = Engine(rawValue: name), engine != .curl || platformDefault == .curl else {
            FileHandle.standardError.write(Data("the transport is `curl`, on Linux with libcurl 7.76 or newer, or `urlsession`\n".utf8))
            exit(2)
        }
        arguments.removeSubrange(index...index + 1)
        return engine
    }

    private static var platformDefault: Engine {
        #if os(Linux)
        CurlTransport.libraryVersion == nil ? .urlsession : .curl
        #else
        .urlsession
        #endif
    }

    /// Makes a transport.
    public func makeTransport() -> any Transport {
        #if os(Linux)
        if self == .curl, let transport = try? CurlTransport() { return transport }
        #endif
        return URLSessionTransport()
    }
}
