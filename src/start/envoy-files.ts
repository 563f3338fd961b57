import { availableParallelism, totalmem } from 'node:os';
import { accessSync, constants, mkdirSync, writeFileSync } from 'node:fs';
import { envoyArguments } from '../envoy/arguments.ts';
import { renderBootstrap } from '../envoy/bootstrap.ts';
import { renderClusters } from '../envoy/clusters.ts';
import { runFolder, type RunFolder } from '../envoy/run-folder.ts';
import { StartRefusal } from './refusal.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface EnvoyFiles {
  readonly files: RunFolder;
  readonly args: readonly string[];
  readonly scheme: 'http' | 'https';
}

const gibibyte = 1024 ** 3;

/** Writes what Envoy reads at its start, and says how to call it. Throws StartRefusal on a bad setting. */
export function writeEnvoyFiles(options: {
  readonly run: string;
  readonly port: number;
  readonly env: Environment;
}): EnvoyFiles {
  const { run, port, env } = options;
  const files = runFolder(run);
  const tls = readTls(env);
  const bootstrap = renderBootstrap({
    runFolder: run,
    edge: { address: '0.0.0.0', port, ...(tls === undefined ? {} : { tls }) },
    trustedHops: readCount(env, 'WEIR_TRUSTED_HOPS') ?? 0,
    maxConnections: 20_000,
    // A quarter of the machine: the service and the demo engine live on it, too.
    heapBytes: Math.round(Math.min(4 * gibibyte, Math.max(gibibyte / 2, memoryBytes() / 4))),
  });
  mkdirSync(files.clustersFolder, { recursive: true, mode: 0o700 });
  writeFileSync(files.bootstrapFile, JSON.stringify(bootstrap, undefined, 2), { mode: 0o600 });
  // Envoy wants the file to be there; the service replaces it as soon as it has read the catalog.
  writeFileSync(files.clustersFile, JSON.stringify(renderClusters([], 'none')), { mode: 0o600 });
  // The service does most of the work of a request, on one core per process: half of the cores are enough for Envoy.
  const concurrency = Math.max(1, Math.floor(availableParallelism() / 2));
  return {
    files,
    args: envoyArguments({ bootstrapFile: files.bootstrapFile, concurrency }),
    scheme: tls === undefined ? 'http' : 'https',
  };
}

/** What a container may use counts, not what the machine has. */
function memoryBytes(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}

function readTls(env: Environment): { readonly certificateFile: string; readonly keyFile: string } | undefined {
  const certificateFile = env['WEIR_TLS_CERTIFICATE_FILE'] ?? '';
  const keyFile = env['WEIR_TLS_KEY_FILE'] ?? '';
  if (certificateFile === '' && keyFile === '') return undefined;
  for (const [name, file] of [
    ['WEIR_TLS_CERTIFICATE_FILE', certificateFile],
    ['WEIR_TLS_KEY_FILE', keyFile],
  ] as const) {
    if (file === '') throw new StartRefusal(`${name}: expected a PEM file, because the other half of the pair is set.`);
    try {
      accessSync(file, constants.R_OK);
    } catch (error) {
      throw new StartRefusal(`${name}: ${file} cannot be read.`, { cause: error });
    }
  }
  return { certificateFile, keyFile };
}

function readCount(env: Environment, name: string): number | undefined {
  const text = env[name] ?? '';
  if (text === '') return undefined;
  if (!/^\d{1,2}$/.test(text)) throw new StartRefusal(`${name}: expected a whole number from 0 to 99, got "${text}".`);
  return Number(text);
}
