import Foundation

extension HTTPBody {
    /// Makes a body from a form, as `application/x-www-form-urlencoded`.
    /// - Parameter form: The fields.
    public static func form(_ form: URLQuery) -> HTTPBody {
        HTTPBody(Data(form.encoded.utf8), headers: [HeaderName.contentType: "application/x-www-form-urlencoded"])
    }
}
