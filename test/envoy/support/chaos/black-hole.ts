import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** An address of the loopback that swallows whoever calls: not even a connection is refused. */
export interface BlackHole {
  readonly port: number;
  readonly close: () => Promise<void>;
}

/** Connections that wait to be accepted. Linux lets one more in than it was told. */
const backlog = 1;
/** Listens, tells its port and never comes back to accept anybody. */
const program = `
  const server = require('node:net').createServer();
  server.listen({ port: Number(process.argv[1]), host: '127.0.0.1', backlog: ${backlog} }, () => {
    require('node:fs').writeSync(1, server.address().port + '\\n');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });`;

/** Opens one at this port, or a free one: a socket whose queue is full, so that the system drops every SYN to it. */
export async function openBlackHole(port = 0): Promise<BlackHole> {
  const child = spawn(process.execPath, ['-e', program, String(port)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`the black hole ended with ${String(code)}`))),
  ])) as [Buffer];
  const bound = Number(line.toString());
  const waiting: Socket[] = [];
  for (let place = 0; place <= backlog; place += 1) {
    const socket = connect(bound, '127.0.0.1');
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    waiting.push(socket);
  }
  return {
    port: bound,
    close: async () => {
      for (const socket of waiting) socket.destroy();
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
  };
}
