import { tieToThisProcess } from '../local/child.ts';
import { systemClock } from '../../process/clock.ts';
import { collectOnceStarted } from '../../process/collect-garbage.ts';
import { createEnvoyAdmin } from '../../control/envoy/runtime/admin.ts';
import { findEnvoy } from '../local/find-envoy.ts';
import { leaveOpsAddress } from '../../process/ops-addresses.ts';
import { keepLogsSmall } from '../../process/log-file.ts';
import { openFilesLimit } from '../../process/machine.ts';
import { claimPort, type PortClaim } from '../local/ports.ts';
import { listenForStop, type StopSignals } from '../../process/stop-signals.ts';
import { localAddressOf } from '../../core/address.ts';
import { kindOfModel, type ModelKind } from '../../core/catalog.ts';
import { findCatalog, type FoundCatalog } from '../local/catalog-place.ts';
import type { FirstProbe } from '../local/answering-model.ts';
import { byOperator } from '../commands/accounts-command.ts';
import { drainEdge } from '../local/drain.ts';
import { searchEngines, serveCommands, type UsualEngine, usualEngines } from '../local/found-engines.ts';
import { readEdgeSettings, writeEnvoyFiles } from '../local/envoy-files.ts';
import { type Own, type StartContext, startDemoEngine, startEnvoy } from '../local/gateway.ts';
import { greetingLines, listedModels } from '../local/greeting.ts';
import { readStartOptions, startHelp, type StartOptions } from './options.ts';
import { takeFolders } from '../local/own-folders.ts';
import { buildPages, startPortal } from '../local/launch-portal.ts';
import { refusal, refusalCodeOf } from '../../books/core/operator-refusals.ts';
import { holdServices, startServices } from '../local/services.ts';
import type { StartSettings } from '../../process/settings/settings.ts';
import { complaint } from '../command-line/complaint.ts';
import { print, printError } from '../command-line/print.ts';

const envoyGraceMs = 5_000;
const serviceGraceMs = 10_000;
const portalGraceMs = 5_000;
const shortGraceMs = 2_000;

/** Progress and errors go to standard error, so that standard output has only what the operator wants to keep. */
function report(line: string): void {
  printError(`weir: ${line}\n`);
}

/**
 * `weir start`: everything on this machine with one command (docs/concepts/architecture.md §6). Resolves to the exit
 * code when the operator has ended it, or when it could not start. By then, every process that it started has ended.
 * `engines`: what is looked for on this machine if it serves the demo.
 */
export async function run(argv: readonly string[], engines = usualEngines): Promise<number> {
  // A terminal that was closed must not prevent the end of the programs that were started.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const signals = listenForStop(process.env);
  let misunderstood = true;
  try {
    const options = readStartOptions(argv, process.env);
    misunderstood = false;
    if (options === undefined) print(`${startHelp}\n`);
    else await runUntilStopped(options, signals, { argv, engines });
    return 0;
  } catch (error) {
    if (signals.drain.aborted) return 0;
    printError(complaint(error, argv.includes('--json') ? 'json' : 'lines'));
    return misunderstood && refusalCodeOf(error) !== 'setting_malformed' ? 2 : 1;
  } finally {
    signals.dispose();
  }
}

/** Starts everything, prints how to use it, waits for the operator's signal, and ends everything in the reverse order. */
async function runUntilStopped(
  options: StartOptions,
  signals: StopSignals,
  { argv, engines }: { readonly argv: readonly string[]; readonly engines: readonly UsualEngine[] },
): Promise<void> {
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
  if (options.portal && process.env['WEIR_ADMIN_PORT'] !== undefined) await checkPortalPort(settings);
  const search = searchEngines(source.kind === 'demo' ? engines : [], port.port);
  stack.defer(search.end);
  const context: StartContext = { data, folders, report, stop, silenceMs, settings };
  const pages = options.portal ? buildPages(context) : undefined;
  if (pages !== undefined) stack.defer(() => pages.stop(shortGraceMs));

  // The modules of the programs load while the catalog, Envoy and the account are prepared.
  const heldServices = holdServices(context, options.replicas);
  stack.defer(async () => {
    await Promise.all(heldServices.map(async (held) => held.stop(shortGraceMs)));
  });

  const found = source.kind === 'demo' ? undefined : await findCatalog(source, { data, report, signal: stop });
  // The demo engine starts while Envoy's version is checked and the demo's account is prepared.
  const [binary, { catalog, hasModels: expectSome, models: declared }, key] = await Promise.all([
    findEnvoy({ env: process.env, report, signal: stop }),
    found ?? demoCatalog(context, (engine) => stack.defer(() => engine.stop(shortGraceMs))),
    options.demo ? demoKey(options) : undefined,
  ]);
  const envoy = writeEnvoyFiles({
    run: folders.run,
    port: port.port,
    edge,
    services: options.replicas,
    env: process.env,
  });
  const admin = createEnvoyAdmin(envoy.files);
  stack.defer(admin.close);
  const command = await tieToThisProcess({ command: binary, args: envoy.args });
  if (stop.aborted) return;

  report('Starting Envoy and the service …');
  const origin = `${envoy.scheme}://${localAddressOf(edge.host)}:${port.port}`;
  const baseUrl = `${origin}/v1`;
  const listening = Promise.withResolvers<void>();
  const opsPorts = Promise.withResolvers<readonly number[]>();
  const stopped = untilAborted(stop);
  // What the greeting needs is found while the services start.
  const probing = declared && probeEngines(declared, stop);
  const accounts = options.demo ? undefined : import('../local/demo-account.ts');
  const ops = Promise.race([opsPorts.promise, stopped]).then((ports) => opsOrigins(ports ?? [], settings));
  const [, portal] = await Promise.all([
    startServices(
      context,
      {
        ...{ catalog, count: options.replicas, hasPortal: options.portal, held: heldServices, admin },
        ...{ onListening: listening.resolve, onOps: opsPorts.resolve },
      },
      (all) => stack.defer(() => all.stop(graceOf(serviceGraceMs))),
    ),
    options.portal
      ? startPortal(context, { services: ops, baseUrl }, (started) =>
          stack.defer(() => started.stop(graceOf(portalGraceMs))),
        )
      : undefined,
    Promise.race([listening.promise, stopped]).then(() => {
      if (stop.aborted) return;
      return startEnvoy(context, { command, files: envoy.files, admin }, (started) =>
        stack.defer(() => started.stop(graceOf(envoyGraceMs))),
      );
    }),
  ]);
  stack.defer(() => drainEdge(admin, { now, report }));
  if (stop.aborted) return;

  const probed = await findModels(declared, { baseUrl, expectSome, stop, probe: await probing });
  if (stop.aborted) return;
  stack.defer(leaveOpsAddress(data, { program: 'gateway', origin }));
  const { dataFlag } = options;
  const opsUrls = (await ops).map((url) => `${url}/metrics`);
  // A workspace of an earlier start, whose commands would fail if they made it again.
  const workspace = await (await accounts)?.usableWorkspace(options.database);
  const greeting = { ...probed, baseUrl, opsUrls, portal, key, workspace, catalog, logs: folders.logs, dataFlag };
  const others = source.kind === 'demo' ? serveCommands(search.found(), { argv, env: process.env, baseUrl }) : [];
  search.end();
  const lines = greetingLines({ ...greeting, others });
  print(lines.map((line) => `${line}\n`).join(''));
  stack.defer(collectOnceStarted());

  await untilAborted(stop);
  report('Ending …');
}

type DeclaredModels = NonNullable<FoundCatalog['models']>;

/** Asks the engines of declared models. Only then a client for engines is loaded; the demo engine has already answered. */
async function probeEngines(declared: DeclaredModels, stop: AbortSignal): Promise<FirstProbe> {
  const { firstProbe } = await import('../local/answering-model.ts');
  return firstProbe([...declared.keys()], declared, stop);
}

interface FindOptions {
  readonly baseUrl: string;
  readonly expectSome: boolean;
  readonly stop: AbortSignal;
  readonly probe: FirstProbe | undefined;
}

/** The models to show: those that callers see, and those whose engine cannot serve them. */
async function findModels(
  declared: DeclaredModels | undefined,
  { baseUrl, expectSome, stop, probe }: FindOptions,
): Promise<FirstProbe & { readonly models: readonly string[]; readonly kind: ModelKind }> {
  const faults = probe?.faults ?? new Map<string, string>();
  // A model whose engine refuses the key will not be listed.
  const isWaiting = expectSome && (declared === undefined || [...declared.keys()].some((id) => !faults.has(id)));
  const listed = await listedModels(baseUrl, { expectSome: isWaiting, signal: stop });
  const models = faults.size === 0 ? listed : [...new Set([...listed, ...faults.keys()])].toSorted();
  if (expectSome && models.length === 0) report('No model is listed yet: no backend answers. See the logs.');
  const answering = probe === undefined ? models[0] : probe.answering;
  return { models, faults, answering, kind: kindOfModel(declared?.get(answering ?? models[0] ?? '') ?? {}) };
}

/** Prepares the demo's account. Resolves to the text of its key. */
async function demoKey({ data, database }: StartOptions): Promise<string> {
  const { prepareDemoAccount } = await import('../local/demo-account.ts');
  return prepareDemoAccount({ data, database, by: byOperator(), report });
}

/** Starts the demo engine, whose manifests name its port. */
async function demoCatalog(context: StartContext, own: Own): Promise<FoundCatalog> {
  return {
    catalog: { kind: 'folder', folder: await startDemoEngine(context, own) },
    hasModels: true,
    models: undefined,
  };
}

const opsOrigins = (ports: readonly number[], { WEIR_OPS_HOST: host }: StartSettings): readonly string[] =>
  ports.map((port) => `http://${localAddressOf(host)}:${port}`);

async function takePort(wanted: number, host: string): Promise<PortClaim> {
  const claim = await claimPort(wanted, host);
  if (claim === 'no-address') throw refusal('address_not_here', { host });
  if (claim === 'forbidden') throw refusal('port_forbidden', { port: wanted });
  if (claim !== 'in-use') return claim;
  throw refusal('port_taken', { port: wanted });
}

/** Throws a Refusal if another program has the port of the portal that the operator asked for. */
async function checkPortalPort({ WEIR_ADMIN_PORT: port, WEIR_ADMIN_HOST: host }: StartSettings): Promise<void> {
  if (port === 0) return;
  const claim = await claimPort(port, host);
  if (typeof claim === 'object') claim.release();
  else if (claim === 'in-use') throw refusal('portal_port_taken', { port });
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
