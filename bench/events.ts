import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

/** A receiver of events that throws away what it gets. */
export interface EventReceiver {
  /** The environment of a Weir that sends an event for each row of its books. */
  readonly environment: Readonly<Record<string, string>>;
  /** Messages that came. */
  readonly messages: () => number;
  readonly stop: () => Promise<void>;
}

/** Starts a receiver on a free port of this machine, which accepts each message. Its secret is in a folder that exists. */
export async function startEventReceiver(folder: string): Promise<EventReceiver> {
  let messages = 0;
  const server = createServer((request, response) => {
    messages += 1;
    request.resume().on('end', () => response.writeHead(204).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const secretFile = join(folder, 'events-secret');
  writeFileSync(secretFile, `whsec_${randomBytes(32).toString('base64')}\n`);
  return {
    environment: { WEIR_EVENTS_URL: `http://127.0.0.1:${port}`, WEIR_EVENTS_SECRET_FILE: secretFile },
    messages: () => messages,
    stop: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
