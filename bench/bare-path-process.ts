import { mkdirSync, readFileSync } from 'node:fs';
import { endpointName } from '../src/core/endpoint.ts';
import type { Exchange } from '../src/core/exchange.ts';
import { createEgress } from '../src/gateway/egress/egress.ts';
import { listenExtProc } from '../src/gateway/extproc/server.ts';
import { readEdgeSettings, writeEnvoyFiles } from '../src/programs/local/envoy-files.ts';
import { systemClock } from '../src/process/clock.ts';
import { openFilesLimit } from '../src/process/machine.ts';
import { createTurnEnd } from '../src/process/turns.ts';
import { unbounded } from '../test/envoy/support/extproc.ts';
import { at, clustersOf } from '../test/envoy/support/give-clusters.ts';
import { startEnvoyProcess } from './plain-envoy.ts';

/**
 * Entry of the bare path (bare-path.ts): `node bare-path-process.ts FOLDER ENGINE_PORT ENVOY`. It tells its parent the
 * port of the edge when requests are served.
 */
const [folder = '', engine = '', binary = ''] = process.argv.slice(2);
const enginePort = Number(engine);
const cluster = 'engine';
const endpoint = endpointName('127.0.0.1', enginePort);
const largestBodyBytes = 32 * 1024 ** 2;
const fieldsBytes = 1024;

mkdirSync(folder, { recursive: true });
const { files, concurrency } = writeEnvoyFiles({
  run: folder,
  port: 0,
  edge: readEdgeSettings({}, { defaultHost: '127.0.0.1', openFiles: openFilesLimit() }),
  env: {},
});
const clusters = await clustersOf({ files });
const atTurnEnd = createTurnEnd();
const egress = createEgress({ socketPath: files.egressSocket, atTurnEnd });
await listenExtProc({
  socketPath: files.extprocSocket,
  handle: (exchange) => void relay(exchange).catch(() => exchange.reply(500, [], 'The bare path has failed.')),
  openDelivery: () => unbounded,
  atTurnEnd,
  clock: systemClock,
});
const bootstrap = JSON.parse(readFileSync(files.bootstrapFile, 'utf8')) as object;
const envoy = await startEnvoyProcess({ binary, folder, concurrency }, () => bootstrap);
await clusters.give([
  { name: cluster, backend: cluster, endpoints: at(enginePort, '127.0.0.1'), tls: { mode: 'Disabled' } },
]);
process.on('disconnect', () => void envoy.stop().finally(() => process.exit(0)));
process.send?.({ port: envoy.port });

/** Sends the caller's body to the engine and the engine's answer to the caller, both unread. The model's name selects the engine's path. */
async function relay(exchange: Exchange): Promise<void> {
  const body = Buffer.from(await exchange.body(largestBodyBytes));
  // Large prompts are passed on unread: what matters stands before them.
  const fields = body.toString('utf8', 0, fieldsBytes);
  const shape = /"model":"bench\/([\w-]+)"/.exec(fields)?.[1] ?? '';
  const isStream = body.includes('"stream":true');
  const bytes = new TextDecoder();
  let answer = '';
  const call = egress.call(
    {
      ...{ cluster, endpoint, authority: endpoint, path: `/${shape}/v1/chat/completions`, body },
      accept: isStream ? 'text/event-stream' : 'application/json',
    },
    {
      head: (status) => {
        if (isStream) exchange.start(status, [['content-type', 'text/event-stream']]);
      },
      data: (piece) => {
        const text = bytes.decode(piece, { stream: true });
        if (isStream) exchange.write(text);
        else answer += text;
      },
      ended: () => {
        if (isStream) exchange.end('');
        else exchange.reply(200, [['content-type', 'application/json']], answer);
      },
      failed: (reason) => {
        if (exchange.started()) exchange.end(reason);
        else exchange.reply(502, [], reason);
      },
    },
  );
  exchange.signal.addEventListener('abort', () => call.abort(), { once: true });
}
