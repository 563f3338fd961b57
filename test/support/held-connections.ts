import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** Connections that a stranger opens and on which nothing is sent. */
export interface HeldConnections {
  /** Connections that are still open. */
  readonly open: () => number;
  /** Resolves when this many have been closed by the other side. */
  readonly closed: (count: number) => Promise<void>;
  readonly release: () => void;
}

/**
 * Opens connections to a port of this machine or to a Unix socket, one after the other. `addressOf`: the address that a connection to a
 * port comes from.
 */
export async function holdConnections(
  place: number | string,
  count: number,
  addressOf: (index: number) => string = () => '127.0.0.1',
): Promise<HeldConnections> {
  const sockets: Socket[] = [];
  let open = 0;
  let noticed = (): void => undefined;
  for (let index = 0; index < count; index += 1) {
    const socket = connect(
      typeof place === 'string' ? { path: place } : { port: place, host: '127.0.0.1', localAddress: addressOf(index) },
    );
    // The other side may close with a reset.
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    open += 1;
    socket.resume();
    socket.once('close', () => {
      open -= 1;
      noticed();
    });
    sockets.push(socket);
  }
  return {
    open: () => open,
    closed: async (expected) => {
      while (count - open < expected) {
        await new Promise<void>((resolve) => {
          noticed = resolve;
        });
      }
    },
    release: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}
