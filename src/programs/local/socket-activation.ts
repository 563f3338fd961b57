import { createServer, type Server, type Socket } from 'node:net';
import { listenOrElsewhere } from '../../core/address.ts';
import { handedVariable, type HandedMessage, listenerRequest } from '../../process/handed-listener.ts';
import type { Child } from './child.ts';

export interface ActivationOptions {
  readonly host: string;
  /** 0, or a port in use, takes a free one. */
  readonly port: number;
  /** Further connections are closed. */
  readonly maxWaiting: number;
  /** Called with each connection that waits for the program. */
  readonly onWaiting: () => void;
}

/** A port whose program starts with the first connection, and then takes the listener and the connections over. */
export type Activation = Awaited<ReturnType<typeof listenForProgram>>;

const send = (program: Pick<Child, 'send'>, type: HandedMessage['type'], handle: Server | Socket): void =>
  program.send({ type } satisfies HandedMessage, handle);

/** Listens for a program that is not started yet. No connection is read here. Rejects if it cannot listen. */
export async function listenForProgram(options: ActivationOptions) {
  const { host, maxWaiting, onWaiting } = options;
  const waiting = new Set<Socket>();
  let program: Pick<Child, 'send'> | undefined;
  const server = createServer({ pauseOnConnect: true, allowHalfOpen: true }, (socket) => {
    if (program !== undefined) send(program, 'connection', socket);
    else if (waiting.size >= maxWaiting) socket.destroy();
    else {
      waiting.add(socket);
      onWaiting();
    }
  });
  await listenOrElsewhere(options.port, (port) => listen(server, { host, port }));
  const address = server.address();

  function failed(): void {
    for (const socket of waiting) socket.destroy();
    waiting.clear();
  }

  return {
    port: typeof address === 'object' && address !== null ? address.port : options.port,
    /** The environment of the program's next run. */
    env: (): Readonly<Record<string, string | undefined>> => ({ [handedVariable]: server.listening ? '1' : undefined }),
    /** Answers the program's message if it asks for the listener. */
    answer: (message: unknown, asking: Pick<Child, 'send'>): void => {
      if (server.listening && listenerRequest.safeParse(message).success) send(asking, 'listener', server);
    },
    /** Hands over what waits, and stops listening: the program listens itself from now on. */
    served: (serving: Pick<Child, 'send'>): void => {
      program = serving;
      for (const socket of waiting) send(serving, 'connection', socket);
      waiting.clear();
      server.close();
    },
    /** Closes the connections that wait, because the program did not start. The next connection is a new attempt. */
    failed,
    close: (): void => {
      failed();
      server.close();
    },
  };
}

function listen(server: Server, where: { readonly host: string; readonly port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ ...where, exclusive: true }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
