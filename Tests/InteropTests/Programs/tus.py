# A third-party tus server or client, for UploadTests.
#
#   tussi PORT FOLDER          keeps an upload part by part; a complete one lies in FOLDER/completed
#   litestar PORT FOLDER       keeps the bytes of a part that breaks off, even after kill -9
#   half URL FILE              tuspy sends the first half of the file, and stops
#   rest URL FILE              tuspy sends what is left
#   create URL FILE            tuspy creates an upload, and prints its URL
import glob
import json
import os
import sys

mode, first, second = sys.argv[1:4]

if mode == "tussi":
    import uvicorn
    from tussi import FilesystemStorage, TUSApp
    os.makedirs(second + "/completed", exist_ok=True)
    app = TUSApp(storage=FilesystemStorage(directory=second + "/uploads"), completed_dir=second + "/completed", max_chunk_size=None)
    uvicorn.run(app, host="127.0.0.1", port=int(first), lifespan="off")
elif mode == "litestar":
    import uvicorn
    from litestar import Litestar
    from litestar_tus import TUSConfig, TUSPlugin
    # After kill -9 the offset is that of the last whole part, and the file is longer.
    for info in glob.glob(second + "/*.info"):
        state = json.load(open(info))
        state["offset"] = os.path.getsize(info[:-5])
        json.dump(state, open(info, "w"))
    app = Litestar(plugins=[TUSPlugin(TUSConfig(upload_dir=second))], request_max_body_size=None)
    uvicorn.run(app, host="127.0.0.1", port=int(first))
elif mode == "create":
    from tusclient.client import TusClient
    metadata = {"filename": "a.bin", "filetype": "application/octet-stream"}
    print(TusClient(first).uploader(file_path=second, metadata=metadata).create_url(), file=sys.stderr)
else:
    from tusclient.uploader import Uploader
    upload = Uploader(file_path=second, url=first, chunk_size=1 << 20)
    upload.upload(**({"stop_at": os.path.getsize(second) // 2} if mode == "half" else {}))
