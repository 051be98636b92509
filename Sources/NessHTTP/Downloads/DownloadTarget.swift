import Foundation
import NessLock

/// The destination of a download's file, and the way in which it is fetched. Only downloads with equal targets are duplicates.
package struct DownloadTarget: Sendable, Hashable {
    package enum Destination: Sendable, Hashable {
        /// The file gets this URL. An existing file is replaced at the end.
        case file(URL)
        /// The file goes to this folder, under the name that the response or the URL suggests. An existing file stays.
        case folder(URL)
    }

    package var destination: Destination
    /// The number of parts that are fetched in parallel, from 1 to 64.
    package var segments: Int
    /// The treatment of a compressed file.
    package var coding: DownloadCoding
    /// True if the file is requested only if it has changed since it was downloaded.
    package var isConditional: Bool
    /// Identifies the requested file in place of its URL.
    var identifier: String?
    /// The properties that the file must have before it gets its name.
    var expectation: FileExpectation?
    /// True if missing folders of the destination are created.
    var createsFolders = false
    /// Chooses the final URL of the file. `destination` is then the folder of the partial file. `nil` if `destination` determines the URL.
    var choose: Choice?

    /// A caller's choice of the final URL. A class, because closures cannot be compared.
    final class Choice: Sendable, Hashable {
        let url: @Sendable (HTTPResponse) throws -> URL
        init(_ url: @escaping @Sendable (HTTPResponse) throws -> URL) { self.url = url }

        static func == (left: Choice, right: Choice) -> Bool { left === right }
        func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
    }

    package init(destination: Destination, segments: Int, coding: DownloadCoding = .refused, isConditional: Bool = false) {
        self.destination = destination
        self.coding = coding
        self.isConditional = isConditional
        self.segments = min(max(1, segments), 64)
    }

    /// The number of parts into which the file is split. One if the file may be compressed, because a part of it cannot be decompressed.
    var partCount: Int { coding == .unpacked ? 1 : segments }

    /// The path of the partial file.
    /// - Parameter source: Identifies the requested resource, as `PartialRecord.source`.
    func partialPath(_ source: String) -> String {
        switch destination {
        case .file(let file): return Self.path(beside: file, ending: ".ness-part")
        case .folder(let folder): return folder.appendingPathComponent(".\(source).ness-part", isDirectory: false).path
        }
    }

    /// Makes a path in a file's folder whose name is the file's name and an ending.
    static func path(beside file: URL, ending: String) -> String {
        // A name that is too long for the ending is replaced by its hash.
        let given = file.lastPathComponent
        let name = given.utf8.count <= 200 ? given : ".\(PartialRecord.hash(given))"
        return file.deletingLastPathComponent().appendingPathComponent(name + ending, isDirectory: false).path
    }

    /// Returns the file at the destination and its length, if it has the expected digest. An expected length alone says too little.
    func savedAsExpected() async -> (file: URL, length: Int64)? {
        guard let expectation, expectation.digest != nil, case .file(let file) = destination, await expectation.isMet(by: file),
            let length = try? OpenFile(file.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).length()
        else { return nil }
        return (file, length)
    }

    /// Checks before the request is sent whether the destination can be written to, and creates its folder if the caller wants that.
    func checkDestination() throws {
        switch destination {
        case .file(let file): try check(file)
        case .folder(let folder): try check(folder: folder)
        }
    }

    private func check(_ file: URL) throws {
        try check(folder: file.deletingLastPathComponent())
        var isFolder: ObjCBool = false
        if FileManager.default.fileExists(atPath: file.path, isDirectory: &isFolder), isFolder.boolValue {
            throw FileError("the destination \(file.lastPathComponent.debugDescription) is a folder")
        }
        // The rename would replace a device or a pipe for the whole system.
        let kind = try? FileManager.default.attributesOfItem(atPath: file.path)[.type] as? FileAttributeType
        guard kind == nil || kind == .typeRegular || kind == .typeSymbolicLink else {
            throw FileError("the destination \(file.lastPathComponent.debugDescription) is not a regular file")
        }
    }

    private func check(folder: URL) throws {
        guard folder.isFileURL else { throw FileError("the destination's scheme is \(folder.scheme ?? "none"), not file") }
        var isFolder: ObjCBool = false
        var existing = folder
        while !FileManager.default.fileExists(atPath: existing.path, isDirectory: &isFolder), existing.pathComponents.count > 1 {
            existing.deleteLastPathComponent()
        }
        guard isFolder.boolValue else {
            throw FileError("\(existing.lastPathComponent.debugDescription) in the path of the destination is a file, not a folder")
        }
        if existing == folder { return }
        let name = folder.lastPathComponent.debugDescription
        guard createsFolders else { throw FileError("there is no folder \(name)") }
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        } catch {
            // Foundation's error names the whole path.
            throw FileError("can't create the folder \(name)")
        }
    }

    /// Chooses the final URL of the file.
    /// - Parameter response: The response. Some of its fields may come from the record on the disk, which is not trusted more than the
    ///   server.
    /// - Throws: `FileError`, or the error of the caller's closure.
    func destination(for response: HTTPResponse) throws -> URL {
        if let choose {
            let chosen = try choose.url(response).standardizedFileURL
            try check(chosen)
            return chosen
        }
        switch destination {
        case .file(let file): return file
        case .folder(let folder):
            let suggested = response.headers[HeaderName.contentDisposition].flatMap(ContentDisposition.fileName)
            let chosen = suggested ?? ContentDisposition.safe(response.url.lastPathComponent) ?? "download"
            return folder.appendingPathComponent(chosen, isDirectory: false)
        }
    }

    /// True if an existing file is replaced.
    var replaces: Bool {
        if case .file = destination { return true }
        return choose != nil
    }
}

extension URL {
    /// Makes `name (2).ext` from `name.ext`.
    func numbered(_ number: Int) -> URL {
        let name = deletingPathExtension().lastPathComponent + " (\(number))"
        let folder = deletingLastPathComponent()
        return folder.appendingPathComponent(pathExtension.isEmpty ? name : "\(name).\(pathExtension)", isDirectory: false)
    }
}

/// The treatment of a file that the server sends compressed (`Content-Encoding`), although downloads request the identity coding by
/// default.
public enum DownloadCoding: Sendable, Hashable {
    /// The download fails with `NessError.Kind.malformedResponse`.
    case refused
    /// The file is decompressed before it is saved. An interrupted download starts over, because a part of the file cannot be decompressed.
    ///
    /// The download fails if neither `Content-Length` nor chunked transfer coding announces the end of the file: a truncated file would
    /// look complete.
    case unpacked
    /// The file is saved compressed, as the server sends it, and can be resumed like any other. The request may set `Accept-Encoding`.
    ///
    /// This requires a transport that can leave a body compressed. With any other transport, such as URLSession, the download fails with
    /// `NessError.Kind.invalidRequest`.
    case asStored
}
