import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { createSecureContext } from 'node:tls';
import { servedSurfaces } from '../../core/api-paths.ts';
import { messageOf } from '../../core/failure.ts';
import type { TraceSampling } from '../../core/trace.ts';
import { envoyArguments, renderBootstrap } from '../../control/envoy/config/bootstrap.ts';
import { renderClusters } from '../../control/envoy/config/clusters.ts';
import { connectionsModule } from '../../control/envoy/config/connection-limits.ts';
import { type EdgeCertificateFiles, renderEdgeCertificate } from '../../control/envoy/config/edge-listener.ts';
import { runFolder } from '../../control/envoy/config/run-folder.ts';
import { maxCertificateBytes, readBoundedFileSync } from '../../process/bounded-file.ts';
import { machineMemoryBytes } from '../../process/machine.ts';
import { type Environment, readSome, readTracingSettings } from '../../process/settings/read-settings.ts';
import { type EnvoySettings, envoySettingsSchema } from '../../process/settings/settings.ts';
import { refusal } from '../../books/core/operator-refusals.ts';

const gibibyte = 1024 ** 3;

interface EnvoyFilesOptions {
  readonly run: string;
  readonly port: number;
  readonly edge: EdgeSettings;
  /** Services behind Envoy. Default: one. */
  readonly services?: number | undefined;
  /** The port at which probes and Prometheus reach Envoy, if there is one. */
  readonly opsPort?: number | undefined;
  /** The port at which another Envoy reaches the service, if there is one. */
  readonly extProcPort?: number | undefined;
  /** Limit of Envoy's heap; default: a quarter of the machine, because the service and the demo engine run there, too. */
  readonly heapBytes?: number | undefined;
  /** WEIR_TLS_CERTIFICATE_FILE, WEIR_TLS_KEY_FILE, and OpenTelemetry's variables. */
  readonly env: Environment;
}

/** Writes the files that Envoy reads at its start, and returns its arguments. Throws a Refusal on a bad setting. */
export function writeEnvoyFiles(options: EnvoyFilesOptions) {
  const { run, port, edge, services, opsPort, extProcPort, heapBytes = quarterOfMachine(), env } = options;
  const address = edge.host;
  // In a container, the option names the port, and other hosts reach it. On a machine, the setting does, and only local
  // programs reach it.
  const variables = readVariables(env);
  const ownOpsPort = variables.WEIR_ENVOY_OPS_PORT;
  const ops =
    opsPort === undefined ? ownOpsPort && { address: '127.0.0.1', port: ownOpsPort } : { address, port: opsPort };
  const files = runFolder(run);
  const tls = readTls(variables);
  const bootstrap = renderBootstrap({
    runFolder: run,
    services,
    tracing: readTracing(env),
    edge: { address, port, tls },
    ops: ops === 0 ? undefined : ops,
    extProc: extProcPort === undefined ? undefined : { address, port: extProcPort },
    trustedHops: edge.trustedHops,
    identityHeader: edge.identityHeader,
    surfaces: edge.surfaces,
    furtherPaths: edge.furtherPaths,
    connections: edge.connections,
    maxConnections: edge.maxConnections,
    heapBytes,
  });
  mkdirSync(files.clustersFolder, { recursive: true, mode: 0o700 });
  // Removes the files for the services of an earlier start, which may have been more.
  rmSync(files.clusterPartsFolder, { recursive: true, force: true });
  writeFileSync(files.bootstrapFile, JSON.stringify(bootstrap, undefined, 2), { mode: 0o600 });
  if (tls !== undefined)
    writeFileSync(files.edgeCertificateFile, JSON.stringify(renderEdgeCertificate(tls)), { mode: 0o600 });
  copyFileSync(connectionsModule, files.connectionsModule);
  // Envoy does not start without this file; the service replaces it as soon as it has read the catalog.
  writeFileSync(files.clustersFile, JSON.stringify(renderClusters([], 'none')), { mode: 0o600 });
  // The service does most of a request's work, on one core: half of the cores are enough for Envoy.
  const concurrency = Math.max(1, Math.floor(availableParallelism() / 2));
  return {
    files,
    args: envoyArguments({ bootstrapFile: files.bootstrapFile, concurrency }),
    /** Worker threads of Envoy. */
    concurrency,
    scheme: tls === undefined ? 'http' : 'https',
  };
}

function readVariables(env: Environment): EnvoySettings {
  try {
    return readSome(env, envoySettingsSchema);
  } catch (error) {
    throw refusal('setting_malformed', { reason: messageOf(error) }, { cause: error });
  }
}

function readTracing(env: Environment): TraceSampling | undefined {
  try {
    return readTracingSettings(env)?.sampling;
  } catch (error) {
    throw refusal('setting_malformed', { reason: messageOf(error) }, { cause: error });
  }
}

function quarterOfMachine(): number {
  return Math.round(Math.min(4 * gibibyte, Math.max(gibibyte / 2, machineMemoryBytes() / 4)));
}

function readTls(variables: EnvoySettings): EdgeCertificateFiles | undefined {
  const { WEIR_TLS_CERTIFICATE_FILE: certificateFile = '', WEIR_TLS_KEY_FILE: keyFile = '' } = variables;
  if (certificateFile === '' && keyFile === '') return undefined;
  const cert = readPem('WEIR_TLS_CERTIFICATE_FILE', certificateFile);
  const key = readPem('WEIR_TLS_KEY_FILE', keyFile);
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    // With these files, Envoy would start and close every connection without a reason.
    const parts = { certificate: certificateFile, key: keyFile, reason: messageOf(error) };
    throw refusal('certificate_without_key', parts, { cause: error });
  }
  return { certificateFile, keyFile };
}

function readPem(setting: string, file: string): Buffer {
  if (file === '') throw refusal('certificate_missing', { setting });
  try {
    return readBoundedFileSync(file, maxCertificateBytes);
  } catch (error) {
    throw refusal('certificate_unreadable', { setting, file }, { cause: error });
  }
}

/** The edge's settings from the environment, for `weir start` and `weir envoy bootstrap` alike. */
type EdgeSettings = ReturnType<typeof readEdgeSettings>;

/** More connections would not fit into the memory that Envoy usually gets. */
const maxTotalConnections = 20_000;

/** Envoy's other descriptors: threads, listeners and logs, health checks, and Prometheus. */
const descriptorsBesides = 256;

/** Three connections: the caller's, the service's to the egress listener for its request, and the one to the engine. */
const descriptorsPerConnection = 3;

/**
 * A load test, or a team behind one address, has some thousand streams. Eight such addresses would use up all
 * connections.
 */
const connectionsPerAddress = 2_500;

/**
 * Reads the settings of the edge. Throws a Refusal on a bad one. Behind trusted proxies there are no limits for one
 * caller, because every peer is a proxy with connections for many callers.
 */
export function readEdgeSettings(
  env: Environment,
  options: { readonly defaultHost: string; readonly openFiles: number | undefined },
) {
  const variables = readVariables(env);
  const { WEIR_TRUSTED_HOPS: trustedHops, WEIR_CONNECTIONS_PER_ADDRESS: perAddress } = variables;
  const identityHeader = variables.WEIR_TRUSTED_IDENTITY_HEADER;
  if (identityHeader !== undefined && trustedHops === 0) throw refusal('identity_header_untrusted');
  const maxConnections = connectionsWithin(options.openFiles);
  return {
    /** The address that the edge listens on. */
    host: variables.WEIR_EDGE_HOST ?? options.defaultHost,
    ...{ trustedHops, identityHeader },
    surfaces: servedSurfaces(variables),
    furtherPaths: variables.WEIR_FURTHER_PATHS,
    /** Most connections of all callers together. */
    maxConnections,
    /** Limits for one caller; undefined if there are none. */
    connections:
      trustedHops > 0
        ? undefined
        : {
            // Two addresses must not use up all connections.
            perAddress: perAddress ?? Math.min(connectionsPerAddress, Math.ceil(maxConnections / 3)),
            unauthenticatedIdleSeconds: variables.WEIR_UNAUTHENTICATED_IDLE_SECONDS,
          },
  };
}

/** The number of connections for which Envoy has descriptors if each has a request. */
function connectionsWithin(openFiles: number | undefined): number {
  if (openFiles === undefined) return maxTotalConnections;
  const fitting = Math.floor((openFiles - descriptorsBesides) / descriptorsPerConnection);
  if (fitting >= 1) return Math.min(maxTotalConnections, fitting);
  throw refusal('open_files_too_few', { files: openFiles, needed: descriptorsBesides + 1_000 });
}
