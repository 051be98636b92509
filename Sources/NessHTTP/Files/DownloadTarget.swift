import Foundation

/// Where a download's file goes, and how it is fetched.
package struct DownloadTarget: Sendable, CustomStringConvertible {
    package enum Place: Sendable, Hashable {
        /// Under this name; a file that is there is replaced in the end.
        case file(URL)
        /// In this folder, under the name that the response or the URL suggests; a file that is there stays.
        case folder(URL)
    }

    package var place: Place
    /// How many parts are fetched at the same time.
    package var segments: Int

    /// The treatment of a file that comes compressed.
    package var coding: DownloadCoding
    /// True if the file is asked for only if it has changed since it was downloaded.
    package var isConditional: Bool

    /// This very download, whatever has a copy of this.
    let life = DownloadLife()

    package init(place: Place, segments: Int, coding: DownloadCoding = .refused, isConditional: Bool = false) {
        self.place = place
        self.coding = coding
        self.isConditional = isConditional
        self.segments = min(max(1, segments), 64)
    }

    /// What tells downloads apart.
    package var description: String { "\(place) \(segments) \(coding) \(isConditional)" }

    /// Where the bytes lie until they are whole.
    /// - Parameter source: What is asked for, as of `PartialRecord.source`.
    func partialPath(_ source: String) -> String {
        switch place {
        case .file(let file): return Self.path(beside: file, ending: ".ness-part")
        case .folder(let folder): return folder.appendingPathComponent(".\(source).ness-part", isDirectory: false).path
        }
    }

    /// A path in the folder of a file, whose name begins like the file's.
    static func path(beside file: URL, ending: String) -> String {
        // A name that leaves no room for more letters is made a hash.
        let given = file.lastPathComponent
        let name = given.utf8.count <= 200 ? given : ".\(PartialRecord.hash(given))"
        return file.deletingLastPathComponent().appendingPathComponent(name + ending, isDirectory: false).path
    }

    /// Refuses what can't be written to, before anything is sent.
    func check() throws {
        let folder: URL
        switch place {
        case .file(let file):
            guard file.isFileURL else { throw FileFailure("the destination's scheme is \(file.scheme ?? "none"), not file") }
            var isFolder: ObjCBool = false
            if FileManager.default.fileExists(atPath: file.path, isDirectory: &isFolder), isFolder.boolValue {
                throw FileFailure("the destination \(file.lastPathComponent.debugDescription) is a folder")
            }
            folder = file.deletingLastPathComponent()
        case .folder(let given):
            guard given.isFileURL else { throw FileFailure("the destination's scheme is \(given.scheme ?? "none"), not file") }
            folder = given
        }
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: folder.path, isDirectory: &isFolder), isFolder.boolValue else {
            throw FileFailure("there is no folder \(folder.lastPathComponent.debugDescription)")
        }
    }

    /// The final place of the file.
    /// - Parameters:
    ///   - response: The response.
    ///   - name: What the server called the file when it began. It may have lain on a disk, and is no safer than the server's word.
    func destination(for response: HTTPResponse, called name: String?) -> URL {
        switch place {
        case .file(let file): return file
        case .folder(let folder):
            let suggested = response.headers[HeaderName.contentDisposition].flatMap(ContentDisposition.fileName)
            let kept = suggested ?? name.flatMap(ContentDisposition.safe)
            let chosen = kept ?? ContentDisposition.safe(response.url.lastPathComponent) ?? "download"
            return folder.appendingPathComponent(chosen, isDirectory: false)
        }
    }

    /// Whether a file that is there is replaced.
    var replaces: Bool {
        if case .file = place { return true }
        return false
    }
}

extension URL {
    /// `name (2).ext` for `name.ext`.
    func numbered(_ number: Int) -> URL {
        let name = deletingPathExtension().lastPathComponent + " (\(number))"
        let folder = deletingLastPathComponent()
        return folder.appendingPathComponent(pathExtension.isEmpty ? name : "\(name).\(pathExtension)", isDirectory: false)
    }
}

/// The treatment of a file that its server sends compressed (`Content-Encoding`), although a download asks for it as it is.
public enum DownloadCoding: Sendable, Hashable {
    /// The download fails with `NessError.malformedResponse`.
    case refused
    /// The file is saved unpacked. A download that breaks starts over, because a part of it can't be unpacked.
    ///
    /// A file of which neither `Content-Length` nor chunks tell the end is refused: one that was cut could not be told from a whole one.
    case unpacked
    /// The file is saved compressed, as the server has it, and continued as any other. The request may set `Accept-Encoding`.
    ///
    /// This takes a transport that can leave a body compressed. With any other the download fails with `NessError.invalidRequest`: URLSession
    /// unpacks every body.
    case asStored
}

/// One download from its start to its end, with all its pauses and attempts.
final class DownloadLife: Sendable {
    private struct State: Sendable {
        weak var promise: AnyPromise?
        var hasPromise = false
        var response: HTTPResponse?
    }

    private let state = Lock(State())

    /// Says whose this is.
    func belongs(to promise: AnyPromise) { state.withLock { ($0.promise, $0.hasPromise) = (promise, true) } }

    /// Whether nothing more comes of the download.
    var isOver: Bool {
        let (promise, hasPromise) = state.withLock { ($0.promise, $0.hasPromise) }
        return hasPromise && promise?.isCompleted != false
    }

    // MARK: the file, between its name and its promise

    // A pause that came between the two would have all fetched again, and a folder get the file twice.

    func keep(_ finished: HTTPResponse) {
        state.withLock { $0.response = finished }
    }

    /// The response, once, if its file is still there.
    func take() -> HTTPResponse? {
        let finished = state.withLock { state in
            defer { state.response = nil }
            return state.response
        }
        guard let path = finished?.file?.path, FileManager.default.fileExists(atPath: path) else { return nil }
        return finished
    }
}
