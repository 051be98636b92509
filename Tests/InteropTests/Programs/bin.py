"""httpbin, with a route that shows how Werkzeug reads a multipart form."""
import hashlib

from flask import jsonify, request
from httpbin import app


@app.route("/parts", methods=["POST"])
def parts():
    files = [
        {"name": name, "fileName": file.filename, "contentType": file.content_type, "sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
        for name, file in request.files.items(multi=True)
        for data in [file.read()]
    ]
    return jsonify(fields=[{"name": name, "value": value} for name, value in request.form.items(multi=True)], files=files)
