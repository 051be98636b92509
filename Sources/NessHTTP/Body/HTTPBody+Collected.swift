import Foundation

extension HTTPBody {
    /// Returns this body in a form that is read into memory before it is sent, if its length is unknown otherwise. The request then has a
    /// `Content-Length`, which some servers require: a form with a sequence or a deferred part, for example, or a file that is compressed.
    ///
    /// The body is collected again for each attempt, off the main thread. The idle timeout counts the whole time as one wait.
    package func collected() -> HTTPBody {
        if data != nil { return self }
        var collected = self
        collected.addStep { body in
            if body.length != nil { return body }
            let reader = body.makeReader()
            var bytes = Data()
            while case let piece = try await reader.next(upTo: Self.chunkLength), !piece.isEmpty { bytes += piece }
            var whole = HTTPBody(bytes, headers: body.headers)
            whole.uncompressedStart = body.uncompressedStart
            return whole
        }
        return collected
    }
}
