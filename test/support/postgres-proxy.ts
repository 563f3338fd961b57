import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Where a connection is cut. */
export interface Cut {
  /** The statement, counted over all connections from the call of `arm` on: 1 is the next one; or the first that looks so. */
  readonly statement: number | RegExp;
  /** `before`: the server does not get the statement. `after`: the server has carried it out, and its answer is lost. */
  readonly when: 'before' | 'after';
}

/** A program between PostgreSQL and its clients, on the loopback. It passes everything on, and cuts a connection where a test asks for it. */
export interface PostgresProxy {
  /** A URL of the server that leads through the proxy. */
  readonly through: (url: string) => string;
  /** Cuts one connection, once. */
  readonly arm: (cut: Cut) => void;
  /** Takes back what was armed. Gives the statement that was cut; undefined when there were not so many. */
  readonly disarm: () => string | undefined;
  readonly close: () => Promise<void>;
}

/** Starts a proxy before the server at a port of the loopback. */
export async function startPostgresProxy(port: number): Promise<PostgresProxy> {
  const sockets = new Set<Socket>();
  let armed: Cut | undefined;
  let cut: string | undefined;
  let begun = 0;

  function serve(client: Socket): void {
    const server = connect(port, '127.0.0.1');
    /** `none`: the answers are passed on; `statement`: the rest of it is; `answer`: it was sent, and nothing is passed back any more. */
    let losing: 'none' | 'statement' | 'answer' = 'none';
    const end = (): void => {
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', end);
      socket.on('close', () => {
        sockets.delete(socket);
        end();
      });
    }
    // The first message of a client has no type.
    const fromClient = readMessages('untyped', (message) => {
      if (client.destroyed) return;
      const { type, bytes } = message;
      const text = statementOf(message);
      if (text !== undefined) {
        begun += 1;
        if (armed !== undefined && isMeant(armed, { begun, text })) {
          const { when } = armed;
          [armed, cut] = [undefined, text];
          if (when === 'before') {
            end();
            return;
          }
          losing = 'statement';
        }
      }
      server.write(bytes);
      if (losing === 'statement' && (type === 'Q' || type === 'S')) losing = 'answer';
    });
    const fromServer = readMessages('typed', ({ type, bytes }) => {
      if (losing === 'none') client.write(bytes);
      // Ready for the next query: the statement has been carried out.
      else if (losing === 'answer' && type === 'Z') end();
    });
    client.on('data', fromClient);
    server.on('data', fromServer);
  }

  const listener = createServer(serve);
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port: own } = listener.address() as AddressInfo;
  return {
    through: (url) => Object.assign(new URL(url), { port: String(own) }).href,
    arm: (wanted) => {
      [armed, cut, begun] = [wanted, undefined, 0];
    },
    disarm: () => {
      armed = undefined;
      return cut;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      listener.close();
      await once(listener, 'close');
    },
  };
}

interface Message {
  /** A letter; empty for the first message of a client. */
  readonly type: string;
  readonly bytes: Buffer;
}

/** Cuts what arrives into the messages of PostgreSQL's protocol. */
function readMessages(first: 'typed' | 'untyped', take: (message: Message) => void): (chunk: Buffer) => void {
  let left: Buffer = Buffer.alloc(0);
  let typeBytes = first === 'typed' ? 1 : 0;
  return (chunk) => {
    left = Buffer.concat([left, chunk]);
    while (left.length >= typeBytes + 4) {
      const end = typeBytes + left.readUInt32BE(typeBytes);
      if (left.length < end) return;
      const message = { type: left.toString('latin1', 0, typeBytes), bytes: left.subarray(0, end) };
      left = left.subarray(end);
      typeBytes = 1;
      take(message);
    }
  };
}

/** The text of a statement that begins with a message: a simple query, or the parsing of one with parameters. */
function statementOf({ type, bytes }: Message): string | undefined {
  if (type === 'Q') return bytes.toString('utf8', 5, bytes.length - 1);
  if (type !== 'P') return undefined;
  const from = bytes.indexOf(0, 5) + 1;
  return bytes.toString('utf8', from, bytes.indexOf(0, from));
}

function isMeant({ statement }: Cut, { begun, text }: { readonly begun: number; readonly text: string }): boolean {
  return typeof statement === 'number' ? begun === statement : statement.test(text);
}
