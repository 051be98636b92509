import Foundation

extension HTTPBody {
    /// A form, as `application/x-www-form-urlencoded`.
    /// - Parameter form: Its fields.
    public static func form(_ form: URLQuery) -> HTTPBody {
        HTTPBody(Data(form.encoded.utf8), headers: [HeaderName.contentType: "application/x-www-form-urlencoded"])
    }
}
