// The origin server of the rows. Arguments: the port.
//
//   /seen          counts the requests of each id: the field X-Id
//   /counts        the counts, as JSON
//   /digest        method, framing, length and SHA-256 of the request's body, as JSON
//   /big           100 MiB; its SHA-256 is in X-Digest. ?size= for another size
//   /file          a file with ranges and If-Range. ?tag= is its ETag, ?size= its size; ?cut=N cuts the first response for this ?tag= after N bytes
//   /events        server-sent events that go on after Last-Event-ID; two of them, then silence
//   /garbage       an answer that is no HTTP
//   /hints         103 (Early Hints), then the response
//   /trailers      a chunked response with a trailer
//   /films         tus that counts the bytes and keeps none
//   /silent        no answer at all
import { createHash } from 'node:crypto';
import http from 'node:http';

const counts = {}, cut = new Set(), lastEventIDs = [];
const block = Buffer.alloc(1 << 20);
for (let i = 0, state = 1; i < block.length; i++) block[i] = (state = Math.imul(state, 1103515245) + 12345 | 0) >>> 16;

function content(size) {
  const pieces = [];
  for (let left = size; left > 0; left -= block.length) pieces.push(block.subarray(0, Math.min(left, block.length)));
  return pieces;
}

function digest(pieces) {
  const hash = createHash('sha256');
  for (const piece of pieces) hash.update(piece);
  return hash.digest('hex');
}

function json(response, value) {
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify(value));
}

function file(request, response, query) {
  const tag = query.get('tag') ?? '"v1"', bytes = Buffer.concat(content(Number(query.get('size') ?? 3 << 20)));
  response.setHeader('ETag', tag);
  response.setHeader('Accept-Ranges', 'bytes');
  response.setHeader('Content-Type', 'application/octet-stream');
  response.setHeader('X-Digest', digest([bytes]));
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? ''), condition = request.headers['if-range'];
  // A weak tag never equals another (RFC 9110, 13.1.5).
  const isCurrent = condition === undefined || (condition === tag && !tag.startsWith('W/'));
  let body = bytes;
  if (range && isCurrent) {
    const end = range[2] === '' ? bytes.length - 1 : Math.min(Number(range[2]), bytes.length - 1);
    response.statusCode = 206;
    response.setHeader('Content-Range', `bytes ${range[1]}-${end}/${bytes.length}`);
    body = bytes.subarray(Number(range[1]), end + 1);
  }
  response.setHeader('Content-Length', body.length);
  const limit = Number(query.get('cut') ?? 0);
  if (limit && !cut.has(tag)) {
    cut.add(tag);
    response.write(body.subarray(0, limit), () => request.socket.destroySoon());
  } else {
    response.end(body);
  }
}

function events(request, response) {
  const last = request.headers['last-event-id'];
  lastEventIDs.push(last ?? null);
  response.setHeader('Content-Type', 'text/event-stream');
  response.write('retry: 500\n\n');
  for (let id = Number(last ?? 0) + 1, i = 0; i < 2; id++, i++) response.write(`id: ${id}\ndata: ${request.method} ${process.pid} ${id}\n\n`);
}

let film = 0;

function films(request, response) {
  const headers = { 'Tus-Resumable': '1.0.0', Location: '/films' };
  if (request.method === 'POST') film = 0;
  else if (request.method !== 'HEAD') request.on('data', data => { film += data.length; });
  const status = { POST: 201, HEAD: 200, PATCH: 204 }[request.method] ?? 405;
  request.resume().on('end', () => response.writeHead(status, { ...headers, 'Upload-Offset': film }).end());
}

const server = http.createServer((request, response) => {
  const url = new URL(request.url, 'http://origin'), size = Number(url.searchParams.get('size') ?? 100 << 20);
  switch (url.pathname) {
    case '/seen':
      counts[request.headers['x-id']] = (counts[request.headers['x-id']] ?? 0) + 1;
      request.resume();
      return request.on('end', () => response.end('seen'));
    case '/counts': return json(response, counts);
    case '/digest': {
      const hash = createHash('sha256');
      let length = 0;
      request.on('data', (data) => { hash.update(data); length += data.length; });
      return request.on('end', () => json(response, {
        method: request.method, length, sha256: hash.digest('hex'), headers: request.headers,
      }));
    }
    case '/big':
      response.setHeader('Content-Length', size);
      response.setHeader('X-Digest', digest(content(size)));
      return (function next(pieces) {
        if (!pieces.length) return response.end();
        if (response.write(pieces.shift())) setImmediate(next, pieces); else response.once('drain', () => next(pieces));
      })(content(size));
    case '/file': return file(request, response, url.searchParams);
    case '/events': return events(request, response);
    case '/last-event-ids': return json(response, lastEventIDs);
    case '/garbage': return request.socket.end('220 this is no HTTP\r\n');
    case '/hints':
      response.writeEarlyHints({ link: '</style.css>; rel=preload; as=style' });
      return response.end('hinted');
    case '/trailers':
      response.writeHead(200, { Trailer: 'X-Trailer', 'Content-Type': 'application/octet-stream' });
      response.write('with a trailer');
      response.addTrailers({ 'X-Trailer': 'end' });
      return response.end();
    case '/films': return films(request, response);
    case '/silent': return request.resume();
    default:
      response.statusCode = 404;
      return response.end('no such path');
  }
});
server.listen(Number(process.argv[2]), '127.0.0.1', () => console.log('listening'));
