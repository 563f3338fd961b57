/** Files that Envoy and the service share, all in one folder that only they may enter. */
export interface RunFolder {
  /** The service listens here for Envoy's ext_proc streams. */
  readonly extprocSocket: string;
  /** The service listens here for the ext_proc streams of another Envoy, whose headers are not believed. */
  readonly strangersSocket: string;
  /** Envoy listens here for the service's upstream calls. */
  readonly egressSocket: string;
  /** The service listens here for Envoy's endpoint discovery (endpoint-discovery.ts). */
  readonly discoverySocket: string;
  /** The service listens here for Envoy's spans, where tracing is on. */
  readonly tracesSocket: string;
  /** Envoy's admin interface. */
  readonly adminSocket: string;
  /** Envoy watches this folder: only a file renamed into it counts as a change. */
  readonly clustersFolder: string;
  readonly clustersFile: string;
  /** Each of several services behind one Envoy keeps its part of the clusters file here (src/envoy/runtime/clusters-file.ts). */
  readonly clusterPartsFolder: string;
  /** The lock of the service that writes the clusters file, if there are several services. */
  readonly clustersLock: string;
  /** Envoy watches this folder, too. It has the file with the states of several services (service-cluster.ts). */
  readonly servicesFolder: string;
  readonly servicesFile: string;
  readonly bootstrapFile: string;
  /** The WebAssembly module that limits connections (connection-limits.ts). */
  readonly connectionsModule: string;
  /** The file that names the edge's certificate to Envoy, if the edge has one (edge-listener.ts). */
  readonly edgeCertificateFile: string;
}

/** `sun_path` of unix(7) is 108 bytes, the last one a zero. */
const longestSocketPath = 107;

/**
 * Returns the paths of a run folder's files. Throws when the folder's path is too long for a Unix socket inside it, which the kernel would cut or refuse later.
 */
export function runFolder(folder: string): RunFolder {
  const base = folder.replace(/\/+$/, '');
  const longest = `${base}/extproc.sock`;
  const bytes = new TextEncoder().encode(longest).length;
  if (bytes > longestSocketPath) {
    throw new Error(
      `The run folder's path is too long: ${longest} has ${bytes} bytes and a Unix socket's path may have ${longestSocketPath}. Choose a shorter folder.`,
    );
  }
  return {
    extprocSocket: longest,
    strangersSocket: `${base}/others.sock`,
    egressSocket: `${base}/egress.sock`,
    discoverySocket: `${base}/xds.sock`,
    tracesSocket: `${base}/traces.sock`,
    adminSocket: `${base}/admin.sock`,
    clustersFolder: `${base}/clusters`,
    clustersFile: `${base}/clusters/clusters.json`,
    clusterPartsFolder: `${base}/cluster-parts`,
    clustersLock: `${base}/clusters.lock`,
    servicesFolder: `${base}/services`,
    servicesFile: `${base}/services/services.json`,
    bootstrapFile: `${base}/bootstrap.json`,
    connectionsModule: `${base}/connections.wasm`,
    edgeCertificateFile: `${base}/edge-certificate.json`,
  };
}

/** The socket of one of several services behind one Envoy, by the service's number, from 1 on. */
const numbered = (socket: string, service: number): string => socket.replace(/\.sock$/, `-${service}.sock`);

/** The sockets of all services behind one Envoy. */
function ofAll(socket: string, services: number | undefined): readonly string[] {
  if (services === undefined || services < 2) return [socket];
  return Array.from({ length: services }, (_, index) => numbered(socket, index + 1));
}

/** The socket on which one of several services behind one Envoy receives ext_proc streams, by the service's number, from 1 on. */
export const extprocSocketOf = ({ extprocSocket }: RunFolder, service: number): string =>
  numbered(extprocSocket, service);

/** Like `extprocSocketOf`, for Envoy's endpoint discovery. */
export const discoverySocketOf = ({ discoverySocket }: Pick<RunFolder, 'discoverySocket'>, service: number): string =>
  numbered(discoverySocket, service);

/** Like `extprocSocketOf`, for Envoy's spans. */
export const tracesSocketOf = ({ tracesSocket }: RunFolder, service: number): string => numbered(tracesSocket, service);

/** The socket on which each of the services behind one Envoy publishes endpoints. */
export const discoverySocketsOf = ({ discoverySocket }: RunFolder, services: number | undefined): readonly string[] =>
  ofAll(discoverySocket, services);

/** The socket on which each of the services behind one Envoy receives Envoy's spans. */
export const tracesSocketsOf = ({ tracesSocket }: RunFolder, services: number | undefined): readonly string[] =>
  ofAll(tracesSocket, services);
