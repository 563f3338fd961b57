import { Server, Socket } from 'node:net';
import * as z from 'zod';

/**
 * Set in the environment of a program for which its supervisor listens until it serves (socket activation). Not a setting:
 * settings begin with `WEIR_`.
 */
export const handedVariable = 'LISTENER_OF_WEIR_START';

/** The program asks for the listener. Before that, nothing would take the connections that the listener accepts. */
export const listenerRequest = z.object({ type: z.literal('listen') });

/** The supervisor's messages; each carries its handle. Connections are those that the supervisor has accepted. */
const handed = z.object({ type: z.enum(['listener', 'connection']) });

export type HandedMessage = z.infer<typeof handed>;

/** Listens on the supervisor's listener. Resolves to whether there is one. */
export async function listenForSupervisor(server: Server): Promise<boolean> {
  if (process.env[handedVariable] === undefined) return false;
  delete process.env[handedVariable];
  const listening = Promise.withResolvers<void>();
  process.on('message', (message: unknown, handle: unknown) => {
    const type = handed.safeParse(message).data?.type;
    // Before the next turn of the event loop, which accepts connections.
    if (type === 'listener' && handle instanceof Server) server.listen(handle, listening.resolve);
    if (type === 'connection' && handle instanceof Socket) take(server, handle);
  });
  process.send?.({ type: 'listen' } satisfies z.infer<typeof listenerRequest>);
  await listening.promise;
  return true;
}

/** Serves a connection like those that an HTTP server accepts itself: with answers after the caller has ended its side, and at once. */
function take(server: Server, socket: Socket): void {
  socket.allowHalfOpen = true;
  socket.setNoDelay(true);
  server.emit('connection', socket);
}
