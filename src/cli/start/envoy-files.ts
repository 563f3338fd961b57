import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { createSecureContext } from 'node:tls';
import { messageOf } from '../../core/failure.ts';
import { envoyArguments } from '../../envoy/config/arguments.ts';
import { renderBootstrap } from '../../envoy/config/bootstrap.ts';
import { renderClusters } from '../../envoy/config/clusters.ts';
import { connectionsModule } from '../../envoy/config/connection-limits.ts';
import { type EdgeCertificate, renderEdgeCertificate } from '../../envoy/config/edge-certificate.ts';
import { runFolder, type RunFolder } from '../../envoy/config/run-folder.ts';
import type { EdgeSettings } from './edge-settings.ts';
import { StartRefusal } from './refusal.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface EnvoyFiles {
  readonly files: RunFolder;
  readonly args: readonly string[];
  readonly scheme: 'http' | 'https';
}

const gibibyte = 1024 ** 3;

export interface EnvoyFilesOptions {
  readonly run: string;
  readonly port: number;
  readonly edge: EdgeSettings;
  /** Where probes and Prometheus reach Envoy, if anywhere. */
  readonly opsPort?: number;
  /** Where another Envoy reaches the service, if any does. */
  readonly extProcPort?: number;
  /** What Envoy's heap may take; default: a quarter of the machine, because the service and the demo engine live on it, too. */
  readonly heapBytes?: number;
  /** WEIR_TLS_CERTIFICATE_FILE and WEIR_TLS_KEY_FILE. */
  readonly env: Environment;
}

/** Writes what Envoy reads at its start, and says how to call it. Throws StartRefusal on a bad setting. */
export function writeEnvoyFiles(options: EnvoyFilesOptions): EnvoyFiles {
  const { run, port, edge, opsPort, extProcPort, heapBytes = quarterOfMachine(), env } = options;
  const address = edge.host;
  const files = runFolder(run);
  const tls = readTls(env);
  const bootstrap = renderBootstrap({
    runFolder: run,
    edge: { address, port, ...(tls === undefined ? {} : { tls }) },
    ...(opsPort === undefined ? {} : { ops: { address, port: opsPort } }),
    ...(extProcPort === undefined ? {} : { extProc: { address, port: extProcPort } }),
    trustedHops: edge.trustedHops,
    ...(edge.connections === undefined ? {} : { connections: edge.connections }),
    maxConnections: edge.maxConnections,
    heapBytes,
  });
  mkdirSync(files.clustersFolder, { recursive: true, mode: 0o700 });
  writeFileSync(files.bootstrapFile, JSON.stringify(bootstrap, undefined, 2), { mode: 0o600 });
  if (tls !== undefined)
    writeFileSync(files.edgeCertificateFile, JSON.stringify(renderEdgeCertificate(tls)), { mode: 0o600 });
  copyFileSync(connectionsModule, files.connectionsModule);
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

function quarterOfMachine(): number {
  return Math.round(Math.min(4 * gibibyte, Math.max(gibibyte / 2, memoryBytes() / 4)));
}

/** What a container may use counts, not what the machine has. */
function memoryBytes(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}

function readTls(env: Environment): EdgeCertificate | undefined {
  const certificateFile = env['WEIR_TLS_CERTIFICATE_FILE'] ?? '';
  const keyFile = env['WEIR_TLS_KEY_FILE'] ?? '';
  if (certificateFile === '' && keyFile === '') return undefined;
  const cert = readPem('WEIR_TLS_CERTIFICATE_FILE', certificateFile);
  const key = readPem('WEIR_TLS_KEY_FILE', keyFile);
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    // Envoy would start, and close every connection without a word.
    const reason = messageOf(error);
    throw new StartRefusal(
      `WEIR_TLS_CERTIFICATE_FILE and WEIR_TLS_KEY_FILE: ${certificateFile} and ${keyFile} are no pair: ${reason}.`,
      { cause: error },
    );
  }
  return { certificateFile, keyFile };
}

function readPem(name: string, file: string): Buffer {
  if (file === '') throw new StartRefusal(`${name}: expected a PEM file, because the other half of the pair is set.`);
  try {
    return readFileSync(file);
  } catch (error) {
    throw new StartRefusal(`${name}: ${file} cannot be read.`, { cause: error });
  }
}
