/** Files that Envoy and the service share, all in one folder that only they may enter. */
export type RunFolder = ReturnType<typeof runFolder>;

/** `sun_path` of unix(7) is 108 bytes, the last one a zero. */
const maxSocketPathLength = 107;

/**
 * Returns the paths of a run folder's files. Throws when the folder's path is too long for a Unix socket inside it, which the kernel would cut or refuse later.
 */
export function runFolder(folder: string) {
  const base = folder.replace(/\/+$/, '');
  const longest = `${base}/extproc.sock`;
  const bytes = new TextEncoder().encode(longest).length;
  if (bytes > maxSocketPathLength) {
    throw new Error(
      `The run folder's path is too long: ${longest} has ${bytes} bytes and a Unix socket's path may have ${maxSocketPathLength}. Choose a shorter folder.`,
    );
  }
  return {
    /** The service listens here for Envoy's ext_proc streams. */
    extprocSocket: longest,
    /** The service listens here for the ext_proc streams of another Envoy, whose headers are not believed. */
    strangersSocket: `${base}/others.sock`,
    /** Envoy listens here for the service's upstream calls. */
    egressSocket: `${base}/egress.sock`,
    /** The service listens here for Envoy's endpoint discovery (endpoint-discovery.ts). */
    discoverySocket: `${base}/xds.sock`,
    /** The service listens here for Envoy's spans, where tracing is on. */
    tracesSocket: `${base}/traces.sock`,
    /** Envoy's admin interface. */
    adminSocket: `${base}/admin.sock`,
    /** Envoy watches this folder: only a file renamed into it counts as a change. */
    clustersFolder: `${base}/clusters`,
    clustersFile: `${base}/clusters/clusters.json`,
    /** Each of several services behind one Envoy keeps its part of the clusters file here (src/control/envoy/runtime/clusters-file.ts). */
    clusterPartsFolder: `${base}/cluster-parts`,
    /** The lock of the service that writes the clusters file, if there are several services. */
    clustersLock: `${base}/clusters.lock`,
    bootstrapFile: `${base}/bootstrap.json`,
    /** The WebAssembly module that limits connections (connection-limits.ts). */
    connectionsModule: `${base}/connections.wasm`,
    /** The file that names the edge's certificate to Envoy, if the edge has one (edge-listener.ts). */
    edgeCertificateFile: `${base}/edge-certificate.json`,
  };
}

/** The sockets that each of several services behind one Envoy has for itself. */
export type ServiceSockets = Pick<RunFolder, 'extprocSocket' | 'discoverySocket' | 'tracesSocket'>;

/** The sockets of the service with this number, from 1 on. Undefined: the service has its Envoy for itself. */
export function socketsOf(files: ServiceSockets, number: number | undefined): ServiceSockets {
  const own = (socket: string): string =>
    number === undefined ? socket : socket.replace(/\.sock$/, `-${number}.sock`);
  return {
    extprocSocket: own(files.extprocSocket),
    discoverySocket: own(files.discoverySocket),
    tracesSocket: own(files.tracesSocket),
  };
}

/** The sockets of all services behind one Envoy. */
export function socketsOfAll(files: ServiceSockets, services = 1): readonly ServiceSockets[] {
  return Array.from({ length: services }, (_, index) => socketsOf(files, services === 1 ? undefined : index + 1));
}
