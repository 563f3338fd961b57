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
    bootstrapFile: `${base}/bootstrap.json`,
    connectionsModule: `${base}/connections.wasm`,
    edgeCertificateFile: `${base}/edge-certificate.json`,
  };
}
