// A server of HTTP/2 over TLS that misbehaves on purpose. Arguments: the file with the certificate and its key, and the mode.
//
//   echo       answers with the request's credential, query and body; ALPN alternates between HTTP/2 and HTTP/1.1
//   h2         the same, always over HTTP/2
//   http1      the same, always over HTTP/1.1
//   In these three, `pad=N` in the query adds N bytes to the body.
//   Other modes read frames, and answer each request with 200 unless they say otherwise. The body has the connection's number and the stream.
//   refuse     refuses the first stream of the first connection (REFUSED_STREAM)
//   goaway     answers the first stream of each connection, then sends GOAWAY with that stream as the last one, and answers no other
//   leave      sends GOAWAY on the first connection before it has read a request, and closes it
//   reset      announces and sends a body of 48 KiB, then RST_STREAM(NO_ERROR)
//   ended      ends a body of 32 KiB without a length, then sends RST_STREAM(NO_ERROR)
//   dead       the first connection answers its first stream, and nothing more
//   window     never opens the window for bodies
//
// Writes its port, and each request, as a line to the standard error. Ends with its standard input.
import fs from 'node:fs';
import http2 from 'node:http2';
import tls from 'node:tls';

const [file, mode] = process.argv.slice(2);
const pem = fs.readFileSync(file);
const say = line => process.stderr.write(line + '\n');
process.stdin.resume().on('end', () => process.exit()).on('error', () => process.exit());
process.on('uncaughtException', error => say(`error ${error.stack}`));

function echo(request, response) {
  const parts = [];
  request.on('error', () => {}).on('data', part => parts.push(part)).on('end', () => {
    const answer = `${request.headers.authorization} ${request.url} ${Buffer.concat(parts)}` + 'x'.repeat(Number(/pad=(\d+)/.exec(request.url)?.[1] ?? 0));
    // Some answers take a while, so that requests overlap.
    setTimeout(() => response.end(answer), Math.random() * 4);
  });
}

function frame(type, flags, stream, payload = Buffer.alloc(0)) {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}
const number = value => { const bytes = Buffer.alloc(4); bytes.writeUInt32BE(value); return bytes; };
const headers = length => {
  // :status 200 (static 8); content-length (static 28) as a literal that is not indexed.
  const text = length === undefined ? '' : String(length);
  return length === undefined ? Buffer.from([0x88]) : Buffer.from([0x88, 0x0f, 0x0d, text.length, ...Buffer.from(text)]);
};
const DATA = 0, HEADERS = 1, RST = 3, SETTINGS = 4, PING = 6, GOAWAY = 7, END_STREAM = 1, END_HEADERS = 4, ACK = 1;

let connections = 0;

function frames(socket) {
  const connection = ++connections;
  let bytes = Buffer.alloc(0), hasPreface = false, streams = 0;
  const send = (...parts) => socket.writable && socket.write(Buffer.concat(parts));
  const answer = stream => {
    const body = Buffer.from(`${connection}/${stream}`);
    send(frame(HEADERS, END_HEADERS, stream, headers(body.length)), frame(DATA, END_STREAM, stream, body));
  };
  const modes = {
    refuse: stream => connection === 1 ? send(frame(RST, 0, stream, number(7))) : answer(stream),
    goaway(stream) {
      if (streams > 1) return;
      answer(stream);
      send(frame(GOAWAY, 0, 0, Buffer.concat([number(stream), number(0)])));
    },
    leave: stream => answer(stream),
    reset(stream) {
      const part = Buffer.alloc(16384, 'x'), count = 3;
      send(frame(HEADERS, END_HEADERS, stream, headers(count * part.length)),
        ...Array.from({ length: count }, () => frame(DATA, 0, stream, part)), frame(RST, 0, stream, number(0)));
    },
    ended(stream) {
      const part = Buffer.alloc(16384, 'x');
      send(frame(HEADERS, END_HEADERS, stream, headers()), frame(DATA, 0, stream, part), frame(DATA, END_STREAM, stream, part),
        frame(RST, 0, stream, number(0)));
    },
    dead: stream => connection > 1 || streams === 1 ? answer(stream) : undefined,
    window: () => {},
  };
  // A stream's window is empty from the start in the mode `window`.
  send(frame(SETTINGS, 0, 0, mode === 'window' ? Buffer.concat([Buffer.from([0, 4]), number(0)]) : Buffer.alloc(0)));
  if (mode === 'leave' && connection === 1) {
    send(frame(GOAWAY, 0, 0, Buffer.concat([number(0), number(0)])));
    return void socket.on('error', () => {}).end();
  }
  socket.on('error', () => {}).on('data', data => {
    bytes = Buffer.concat([bytes, data]);
    if (!hasPreface && bytes.length >= 24) [hasPreface, bytes] = [true, bytes.subarray(24)];
    while (hasPreface && bytes.length >= 9) {
      const length = bytes.readUIntBE(0, 3), type = bytes[3], flags = bytes[4], stream = bytes.readUInt32BE(5) & 0x7fffffff;
      if (bytes.length < 9 + length) return;
      const payload = bytes.subarray(9, 9 + length);
      bytes = bytes.subarray(9 + length);
      if (type === SETTINGS && !(flags & ACK)) send(frame(SETTINGS, ACK, 0));
      if (type === PING && !(flags & ACK) && mode !== 'dead') send(frame(PING, ACK, 0, payload));
      if (type === HEADERS) {
        streams += 1;
        say(`request ${connection}/${stream}`);
        modes[mode](stream);
      }
    }
  });
}

let turn = 0;
const server = ['echo', 'h2', 'http1'].includes(mode)
  ? http2.createSecureServer({
    key: pem, cert: pem, allowHTTP1: true,
    ALPNCallback: ({ protocols }) => !protocols.includes('h2') || mode === 'http1' || (mode === 'echo' && turn++ % 2) ? 'http/1.1' : 'h2',
  }, echo)
  : tls.createServer({ key: pem, cert: pem, ALPNProtocols: ['h2'] }, frames);
server.on('tlsClientError', () => {}).on('sessionError', () => {});
server.listen(0, '127.0.0.1', () => say(`port ${server.address().port}`));
