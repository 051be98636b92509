#if os(Linux)
import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

extension Interop {
    /// Multipart forms as Werkzeug reads them.
    @Suite(.needs(.gunicorn)) struct MultipartTests {
        /// A form as the server read it.
        private struct Parts: Decodable {
            struct Field: Decodable, Equatable {
                var name: String
                var value: String
            }
            struct File: Decodable {
                var name: String
                var fileName: String
                var contentType: String?
                var sha256: String
                var size: Int
            }
            var fields: [Field]
            var files: [File]
        }

        private func send(_ form: MultipartForm, _ wire: Wire) async throws -> Parts {
            let server = try await Servers.get(HTTPBin.self)
            return try await wire.ness().httpRequest(.post, withUrl: server.at("/parts")).set(multipart: form).decoded()
        }

        @Test("names and values arrive in order, with any characters, even if they are empty", arguments: Wire.allCases)
        func fields(wire: Wire) async throws {
            var form = MultipartForm()
            // No backslash: Werkzeug takes it for the start of an escape, also in the forms of browsers.
            let names = ["plain", "Größe ☃", "a\"b", "semi;colon=x", "percent%41", "twice", "twice", "spaces  in  it"]
            let values = ["", "ä\r\n--x\r\n", "日本語", " trimmed? ", "--", "1", "2", String(repeating: "x", count: 100_000)]
            for (name, value) in zip(names, values) { form.append(value, named: name) }
            let parts = try await send(form, wire)
            #expect(parts.files.isEmpty)
            // Werkzeug groups fields of one name; these are neighbors.
            #expect(parts.fields.map(\.name) == names)
            #expect(parts.fields.map(\.value) == values)
        }

        @Test("files keep their names, types and bytes, even an empty file and one of 20 MiB", arguments: Wire.allCases)
        func files(wire: Wire) async throws {
            try await withFolder { folder in
                let big = folder.appending(path: "groß und schön.bin")
                try await writeRandomBytes(20 << 20, to: big)
                var form = MultipartForm()
                form.append("before", named: "before")
                form.append(Data(), named: "empty", fileName: "empty.txt", contentType: "text/plain")
                form.append(file: big, named: "big", contentType: "application/x-big")
                form.append(Data("a\r\n".utf8), named: "quoted", fileName: "a\"b ☃.txt")
                form.append("after", named: "after")
                let parts = try await send(form, wire)
                #expect(parts.fields == [.init(name: "before", value: "before"), .init(name: "after", value: "after")])
                #expect(parts.files.map(\.name) == ["empty", "big", "quoted"])
                #expect(parts.files.map(\.fileName) == ["empty.txt", "groß und schön.bin", "a\"b ☃.txt"])
                #expect(parts.files.map(\.contentType) == ["text/plain", "application/x-big", "application/octet-stream"])
                #expect(parts.files.map(\.size) == [0, 20 << 20, 3])
                #expect(try await digest(of: big) == parts.files.first { $0.name == "big" }?.sha256)
            }
        }
    }
}
#endif
