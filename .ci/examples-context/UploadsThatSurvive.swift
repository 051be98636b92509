var upload: UploadPromise { stub() }

extension String {
    func values(of element: String) -> [String] { stub() }
}
