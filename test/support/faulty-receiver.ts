import { createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Chance } from './chance.ts';
import type { SampleEvent } from './sample-outbox.ts';

const faults = ['status', 'hang', 'hang-up', 'cut', 'reset-after-2xx', 'kept-then-status', 'redirect'] as const;

/** How a receiver fails. `lie`: answers 2xx and keeps nothing. */
export interface ReceiverFaults {
  /** Of all messages. */
  failing: number;
  lying: number;
}

/**
 * A receiver that dies, hangs and lies. `receive` gets what it keeps, `lose` what it accepts and does not keep. It verifies each
 * signature; `problems` has what must not be.
 */
export async function openFaultyReceiver(
  chance: Chance,
  books: {
    readonly secret: string;
    readonly receive: (events: readonly SampleEvent[]) => void;
    readonly lose: (events: readonly SampleEvent[]) => void;
  },
) {
  const { secret, receive, lose } = books;
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const share: ReceiverFaults = { failing: 0, lying: 0 };
  const counts = { messages: 0, failed: 0, lied: 0 };
  const problems: string[] = [];

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = request.headers;
    const expected = createHmac('sha256', key)
      .update(`${String(id)}.${String(at)}.`)
      .update(body)
      .digest('base64');
    if (signature !== `v1,${expected}`) problems.push('a signature is wrong');
    if (request.headers['content-type'] !== 'application/cloudevents-batch+json')
      problems.push('the content type is wrong');
    const events = JSON.parse(body.toString()) as readonly SampleEvent[];
    counts.messages += 1;
    if (chance.is(share.failing)) return fail(response, events);
    if (chance.is(share.lying)) {
      counts.lied += events.length;
      lose(events);
    } else receive(events);
    response.writeHead(200).end('{}');
  }

  function fail(response: ServerResponse, events: readonly SampleEvent[]): void {
    counts.failed += 1;
    switch (chance.pick(faults)) {
      case 'status':
        return void response.writeHead(chance.pick([400, 404, 410, 429, 500, 503])).end('no');
      case 'redirect':
        return void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
      case 'hang':
        return;
      case 'hang-up':
        return void response.socket?.destroy();
      case 'cut':
        response.writeHead(200, { 'content-length': 100 }).write('{');
        return void setImmediate(() => response.socket?.destroy());
      case 'reset-after-2xx':
        receive(events);
        response.writeHead(200, { 'content-length': 100 }).write('{');
        return void setImmediate(() => response.socket?.resetAndDestroy());
      case 'kept-then-status':
        receive(events);
        return void response.writeHead(500).end();
    }
  }

  const server = createServer((request, response) => {
    // A sender that is killed breaks its request off.
    handle(request, response).catch(() => response.destroy());
  });
  const listen = (port: number): Promise<void> =>
    new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve()));
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const die = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${port}/`, share, counts, problems, die, rise: () => listen(port) };
}
