/** Files that Envoy and the service share, all in one folder that only they may enter. */
export interface RunFolder {
  /** The service listens here for Envoy's ext_proc streams. */
  readonly extprocSocket: string;
  /** Envoy listens here for the service's upstream calls. */
  readonly egressSocket: string;
  /** The service listens here for Envoy's question which endpoints its clusters have (endpoint-discovery.ts). */
  readonly discoverySocket: string;
  /** Envoy's admin interface. */
  readonly adminSocket: string;
  /** Envoy watches this folder: only a file renamed into it counts as a change. */
  readonly clustersFolder: string;
  readonly clustersFile: string;
  /** Several services behind one Envoy each keep their part of the clusters file here (src/envoy/runtime/clusters-file.ts). */
  readonly clusterPartsFolder: string;
  /** Held by the service that writes the clusters file, where there are several. */
  readonly clustersLock: string;
  /** Envoy watches this folder, too: which of several services take requests (service-cluster.ts). */
  readonly servicesFolder: string;
  readonly servicesFile: string;
  readonly bootstrapFile: string;
  /** The WebAssembly module that limits connections (connection-limits.ts). */
  readonly connectionsModule: string;
  /** Where Envoy finds the edge's certificate, if it has one (edge-listener.ts). */
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
    egressSocket: `${base}/egress.sock`,
    discoverySocket: `${base}/xds.sock`,
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

/** Where one of several services behind one Envoy listens for its ext_proc streams, by the service's number, from 1 on. */
export function extprocSocketOf({ extprocSocket }: RunFolder, service: number): string {
  return extprocSocket.replace(/\.sock$/, `-${service}.sock`);
}

/** Where each of the services behind one Envoy tells which endpoints there are. */
export function discoverySocketsOf({ discoverySocket }: RunFolder, services: number | undefined): readonly string[] {
  if (services === undefined || services < 2) return [discoverySocket];
  return Array.from({ length: services }, (_, index) => discoverySocketOf({ discoverySocket }, index + 1));
}

/** As `extprocSocketOf`, for the question which endpoints there are. */
export function discoverySocketOf({ discoverySocket }: Pick<RunFolder, 'discoverySocket'>, service: number): string {
  return discoverySocket.replace(/\.sock$/, `-${service}.sock`);
}
