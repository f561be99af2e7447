# SPDX-License-Identifier: MIT
"""bad_server.py PORT LOG [PEM] - an HTTP server whose folders misbehave, each in its own way; also a proxy for /proxied/. With PEM by TLS."""
import ssl
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BODY = open(sys.argv[2], "rb").read()
sent = 0
tries = 0
store = {}
lock = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def reply(self, status, body=b"", headers=(), length=None):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def cut(self):
        self.wfile.flush()
        self.close_connection = True

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        global sent, tries
        path = self.path[self.path.index("/", 8):] if self.path.startswith("http://") else self.path
        kind = path.split("/")[1]
        if kind.isdigit():
            self.reply(int(kind), b"<Error><Code>Bad</Code></Error>")
        elif kind == "nothing":
            self.cut()
        elif kind == "garbage":
            self.wfile.write(b"\x00\x01 what is this\r\n\r\n")
            self.cut()
        elif kind == "half":
            self.reply(200, BODY[: len(BODY) // 2], [("ETag", '"1"')], len(BODY))
            self.cut()
        elif kind == "stall":
            self.reply(200, b"", [("ETag", '"1"')], 1000)
            if self.command == "GET":
                time.sleep(5)
            self.cut()
        elif kind == "loop":
            self.reply(302, headers=[("Location", self.path)])
        elif kind == "plain":
            self.reply(302, headers=[("Location", f"http://127.0.0.1:{path.split('/')[2]}/proxied/log.jsonl")])
        elif kind == "simple":
            if path in store:
                self.reply(200, store[path], [("ETag", '"s"')])
            else:
                self.reply(404)
        elif kind == "flaky":
            tries += 1
            if tries < 3:
                self.reply(503)
            else:
                self.reply(200, BODY, [("ETag", '"1"')])
        elif kind == "sent":
            self.reply(200, str(sent).encode())
        elif kind == "resume":
            self.resume()
        elif kind == "proxied":
            self.reply(200, BODY, [("ETag", '"1"')])
        else:
            self.reply(404)

    def resume(self):
        """Half of what is asked for at first; the rest when it is asked for with the right ETag."""
        global sent
        wanted = self.headers.get("Range")
        if self.command == "HEAD":
            self.reply(200, BODY, [("ETag", '"r"')])
        elif wanted and self.headers.get("If-Range") == '"r"':
            at = int(wanted[len("bytes="):].split("-")[0])
            with lock:
                sent += len(BODY) - at
            self.reply(206, BODY[at:], [("ETag", '"r"'), ("Content-Range", f"bytes {at}-{len(BODY) - 1}/{len(BODY)}")])
        else:
            with lock:
                sent += len(BODY) // 2
            self.reply(200, BODY[: len(BODY) // 2], [("ETag", '"r"')], len(BODY))
            self.cut()

    def do_PUT(self):
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.startswith("/simple/"):
            store[self.path] = data
            self.reply(201)
        else:
            self.reply(500)

    def do_DELETE(self):
        store.pop(self.path, None)
        self.reply(204)


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
if len(sys.argv) > 3:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[3])
    server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
