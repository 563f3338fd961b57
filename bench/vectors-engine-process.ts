import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dimensions } from './vectors-engine.ts';

/** Entry of an engine of embeddings in a process of its own: its vectors are made once, and their texts written as they are. */
const vectors = Array.from({ length: 64 }, (_, at) =>
  Float32Array.from({ length: dimensions }, (__, place) => Math.sin(at * dimensions + place + 1)),
);
const texts = {
  float: vectors.map((vector) => JSON.stringify([...vector])),
  base64: vectors.map((vector) => JSON.stringify(Buffer.from(vector.buffer).toString('base64'))),
};
const pieceLength = 256 * 1024;

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = '';
  for await (const piece of request.setEncoding('utf8')) body += String(piece);
  if (request.method === 'GET') {
    response.end('{}');
    return;
  }
  const asked = JSON.parse(body) as { input: string | readonly string[]; encoding_format?: 'float' | 'base64' };
  const inputs = typeof asked.input === 'string' ? [asked.input] : asked.input;
  const ready = texts[asked.encoding_format ?? 'float'];
  response.setHeader('content-type', 'application/json');
  let piece = '{"object":"list","model":"bench-engine","data":[';
  for (const [index, input] of inputs.entries()) {
    // The vector of a text is always the same one: Weir compares.
    const vector = ready[(input.length + input.charCodeAt(0)) % ready.length];
    piece += `${index === 0 ? '' : ','}{"object":"embedding","index":${index},"embedding":${vector}}`;
    if (piece.length < pieceLength) continue;
    response.write(piece, 'latin1');
    piece = '';
  }
  const tokens = inputs.length * 100;
  response.end(`${piece}],"usage":{"prompt_tokens":${tokens},"total_tokens":${tokens}}}`, 'latin1');
}

const server = createServer((request, response) => void answer(request, response));
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
// The parent's end, however it ends, is ours too.
process.on('disconnect', () => process.exit(0));
