var uploads: ResumableUploads { stub() }
