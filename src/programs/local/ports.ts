import { createServer, type Server } from 'node:net';

/**
 * A port that no other `weir start` of this machine gets until it is released, and that was free of other programs when
 * it was claimed.
 */
export interface PortClaim {
  readonly port: number;
  readonly release: () => void;
}

/** Why a port cannot be claimed. */
type PortRefusal = 'in-use' | 'forbidden' | 'no-address';

const attempts = 20;

/** Claims the port for a listener on the address; 0: any free port. */
export async function claimPort(port: number, listener: string): Promise<PortClaim | PortRefusal> {
  if (port !== 0) return claimExactly(port, listener);
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const claim = await claimExactly(await freePort(), listener);
    if (claim !== 'in-use') return claim;
  }
  return 'in-use';
}

async function claimExactly(port: number, listener: string): Promise<PortClaim | PortRefusal> {
  // Between the check below and Envoy's bind another start could pass the same check, so the name is claimed first.
  const claim = await claimName(port);
  if (claim === undefined) return 'in-use';
  // A program on 127.0.0.1 alone leaves 0.0.0.0 free on some systems, and the other way round.
  for (const host of new Set([listener, '0.0.0.0', '127.0.0.1'])) {
    const code = await tryBind(port, host);
    if (code === undefined) continue;
    claim.release();
    if (code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT') return 'no-address';
    return code === 'EACCES' ? 'forbidden' : 'in-use';
  }
  return { port, release: claim.release };
}

/**
 * An abstract Unix socket: its name belongs to the network namespace, exactly like the port, and ends with the process.
 * Only Linux has them; elsewhere two starts within the same second may meet at Envoy's own bind.
 */
async function claimName(port: number): Promise<{ readonly release: () => void } | undefined> {
  if (process.platform !== 'linux') return { release: () => undefined };
  const server = createServer((socket) => socket.destroy()).unref();
  return new Promise((resolve) => {
    server.once('error', () => resolve(undefined));
    server.listen({ path: `\0weir-edge-port-${port}` }, () => resolve({ release: () => server.close() }));
  });
}

/** A port on which no program listens at this moment. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port: 0, host: '127.0.0.1', exclusive: true }, resolve);
  });
  const address = server.address();
  await close(server);
  if (address === null || typeof address === 'string') throw new Error('The machine gave no port.');
  return address.port;
}

async function tryBind(port: number, host: string): Promise<string | undefined> {
  const server = createServer();
  const code = await new Promise<string | undefined>((resolve) => {
    server.once('error', (error) => resolve('code' in error ? String(error.code) : error.message));
    server.listen({ port, host, exclusive: true }, () => resolve(undefined));
  });
  if (code === undefined) await close(server);
  return code;
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}
