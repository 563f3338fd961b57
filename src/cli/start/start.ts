import { tieToThisProcess } from '../../local/child.ts';
import { systemClock } from '../../process/clock.ts';
import { createEnvoyAdmin } from '../../envoy/runtime/admin.ts';
import { findEnvoy } from '../../local/find-envoy.ts';
import { leaveOpsAddress } from '../../process/ops-addresses.ts';
import { keepLogsSmall } from '../../process/log-file.ts';
import { openFilesLimit } from '../../process/machine.ts';
import { claimPort, type PortClaim } from '../../local/ports.ts';
import { listenForStop, type StopSignals } from '../../process/stop-signals.ts';
import { localAddressOf } from '../../core/address.ts';
import { messageOf } from '../../core/failure.ts';
import { answeringModel } from '../../local/answering-model.ts';
import { findCatalog } from '../../local/catalog-place.ts';
import { byOperator } from '../commands/accounts-command.ts';
import { prepareDemoAccount } from '../../local/demo.ts';
import { drainEdge } from '../../local/drain.ts';
import { readEdgeSettings, writeEnvoyFiles } from '../../local/envoy-files.ts';
import { type StartContext, startDemoEngine, startEnvoy } from '../../local/gateway.ts';
import { greetingLines, listedModels } from '../../local/greeting.ts';
import { readStartOptions, startHelp, type StartOptions } from './options.ts';
import { takeFolders } from '../../local/own-folders.ts';
import { buildPages, startPortal } from '../../local/launch-portal.ts';
import { SettingRefusal, StartRefusal } from '../../local/refusal.ts';
import { type Services, startServices } from '../../local/services.ts';

const envoyGraceMs = 5_000;
const serviceGraceMs = 10_000;
const portalGraceMs = 5_000;
const shortGraceMs = 2_000;

/** Progress and errors go to standard error, so that standard output has only what the operator wants to keep. */
function report(line: string): void {
  console.error(`weir: ${line}`);
}

/**
 * `weir start`: everything on this machine with one command (docs/reference/architecture.md §7). Resolves to the exit
 * code when the operator has ended it, or when it could not start. By then, every process that it started has ended.
 */
export async function run(argv: readonly string[]): Promise<number> {
  // A terminal that was closed must not prevent the end of the programs that were started.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const signals = listenForStop(process.env);
  let misunderstood = true;
  try {
    const options = readStartOptions(argv, process.env);
    misunderstood = false;
    if (options === undefined) console.log(startHelp);
    else await runUntilStopped(options, signals);
    return 0;
  } catch (error) {
    if (signals.drain.aborted) return 0;
    report(messageOf(error));
    return misunderstood && !(error instanceof SettingRefusal) ? 2 : 1;
  } finally {
    signals.dispose();
  }
}

/** Starts everything, prints how to use it, waits for the operator's signal, and ends everything in the reverse order. */
async function runUntilStopped(options: StartOptions, signals: StopSignals): Promise<void> {
  const { data, source, silenceMs, settings } = options;
  const { drain: stop, now } = signals;
  await using stack = new AsyncDisposableStack();
  const graceOf = (graceMs: number): number => (now.aborted ? shortGraceMs : graceMs);

  const env = { ...process.env, WEIR_RESPONSES: settings.WEIR_RESPONSES };
  const edge = readEdgeSettings(env, { defaultHost: '127.0.0.1', openFiles: openFilesLimit() });
  const folders = await takeFolders(data, report);
  stack.defer(folders.release);
  stack.defer(keepLogsSmall(folders.logs, systemClock));
  const port = await takePort(options.port, edge.host);
  stack.defer(port.release);
  const context: StartContext = { data, folders, report, stop, silenceMs, settings };
  const pages = options.portal ? buildPages(context) : undefined;
  if (pages !== undefined) stack.defer(() => pages.stop(shortGraceMs));

  const found = source.kind === 'demo' ? undefined : await findCatalog(source, { data, report, signal: stop });
  const binary = await findEnvoy({ env: process.env, report, signal: stop });
  const { replicas } = options;
  const envoy = writeEnvoyFiles({ run: folders.run, port: port.port, edge, services: replicas, env: process.env });
  const admin = createEnvoyAdmin(envoy.files);
  stack.defer(admin.close);
  const command = await tieToThisProcess({ command: binary, args: envoy.args });
  const key = options.demo
    ? await prepareDemoAccount({ data, database: options.database, by: byOperator(), report })
    : undefined;
  if (stop.aborted) return;

  report('Starting Envoy and the service …');
  const {
    catalog,
    hasModels: expectSome,
    models: declared,
  } = found ?? {
    // The demo engine's manifests name its port, which is known only once it runs.
    catalog: {
      kind: 'folder',
      folder: await startDemoEngine(context, (engine) => stack.defer(() => engine.stop(shortGraceMs))),
    },
    hasModels: true,
    models: undefined,
  };
  if (stop.aborted) return;
  const listening = Promise.withResolvers<void>();
  const [services] = await Promise.all([
    startServices(
      context,
      { catalog, count: replicas, files: envoy.files, admin, onListening: listening.resolve },
      (all) => stack.defer(() => all.stop(graceOf(serviceGraceMs))),
    ),
    Promise.race([listening.promise, untilAborted(stop)]).then(() => {
      if (stop.aborted) return;
      return startEnvoy(context, { command, files: envoy.files, admin }, (started) =>
        stack.defer(() => started.stop(graceOf(envoyGraceMs))),
      );
    }),
  ]);
  stack.defer(() => drainEdge(admin, { now, report }));
  if (stop.aborted) return;

  const origin = `${envoy.scheme}://${localAddressOf(edge.host)}:${port.port}`;
  const baseUrl = `${origin}/v1`;
  const models = await listedModels(baseUrl, { expectSome, signal: stop });
  if (stop.aborted) return;
  stack.defer(leaveOpsAddress(data, { program: 'gateway', origin }));
  const answering = answeringModel(models, declared, stop);
  if (expectSome && models.length === 0) report('No model is listed yet: no backend answers. See the logs.');
  const ops = services.opsPorts().map((opsPort) => `http://${localAddressOf(settings.WEIR_OPS_HOST)}:${opsPort}`);
  const opsUrls = ops.map((url) => `${url}/metrics`);
  const portal = options.portal
    ? await startPortal(context, { services: ops, baseUrl }, (started) =>
        stack.defer(() => started.stop(graceOf(portalGraceMs))),
      )
    : undefined;
  if (stop.aborted) return;
  const { dataFlag } = options;
  const replace = replicas === 1 ? undefined : `kill -USR2 ${process.pid}`;
  stack.defer(replaceOnSignal(services, replicas));
  const greeting = { baseUrl, opsUrls, portal, replace, key, models, catalog, logs: folders.logs, dataFlag };
  console.log(greetingLines({ ...greeting, answering: await answering }).join('\n'));

  await untilAborted(stop);
  report('Ending …');
}

/**
 * Replaces the services one by one at each SIGUSR2, until the returned function is called. SIGHUP, the signal of a
 * closed terminal, ends the gateway.
 */
function replaceOnSignal({ replaceAll }: Services, replicas: number): () => void {
  let isReplacing = false;
  const onSignal = (): void => {
    if (replicas === 1) report('A single service is not replaced while it serves: start with --replicas 2 or more.');
    else if (isReplacing) report('The services are being replaced already.');
    else {
      isReplacing = true;
      void replaceAll().finally(() => {
        isReplacing = false;
      });
    }
  };
  process.on('SIGUSR2', onSignal);
  return () => void process.off('SIGUSR2', onSignal);
}

async function takePort(wanted: number, host: string): Promise<PortClaim> {
  const claim = await claimPort(wanted, host);
  if (claim === 'no-address')
    throw new StartRefusal(`WEIR_EDGE_HOST: this machine has no address ${host} to listen on.`);
  if (claim === 'forbidden')
    throw new StartRefusal(`Port ${wanted} may not be used by this user; choose one above 1023 with --port.`);
  if (claim !== 'in-use') return claim;
  throw new StartRefusal(
    `Port ${wanted} is taken by another program. End that one, or choose another port: --port N (--port 0 takes a free one).`,
  );
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
