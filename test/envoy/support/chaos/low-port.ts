import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A port where nobody listens, and that can be taken again later: below the range from which outgoing connections take theirs.
 */
export async function lowPort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    const closed = once(server, 'close');
    server.close();
    await closed;
    return port;
  }
}
