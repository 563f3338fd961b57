import { lstatSync, unlinkSync } from 'node:fs';
import type { Server } from 'node:http';

/** Where a server listens: a port, 0 for a free one, or a Unix socket. */
export type Address = { readonly host: string; readonly port: number } | { readonly path: string };

/** Starts to listen and tells the port (0 for a Unix socket). Rejects when the address is taken. */
export async function listen(server: Server, address: Address): Promise<number> {
  if ('path' in address) removeSocket(address.path);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    // Two thousand clients that connect at once need room to queue.
    server.listen({ ...address, backlog: 4096 }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const bound = server.address();
  return typeof bound === 'object' && bound !== null ? bound.port : 0;
}

/** Stops listening and destroys every connection, also those in the middle of an answer. */
export async function stopListening(servers: readonly Server[]): Promise<void> {
  await Promise.all(
    servers.map(
      async (server) =>
        new Promise<void>((resolve) => {
          server.close(() => resolve());
          server.closeAllConnections();
        }),
    ),
  );
}

/** Removes what a process that was killed left behind; never anything but a socket. */
function removeSocket(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isSocket() === true) unlinkSync(path);
}
