import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import type { RequestOptions } from 'node:https';
import { delimiter, dirname, join } from 'node:path';
import { HttpMethod, KubeConfig, RequestContext, type SecurityAuthentication } from '@kubernetes/client-node';
import { Agent, type Dispatcher } from 'undici';
import { messageOf } from '../../core/failure.ts';
import { isObject } from '../../core/json.ts';
import {
  maxCertificateBytes,
  maxConfigurationBytes,
  readBoundedFile,
  readBoundedFileSync,
} from '../../process/bounded-file.ts';

/** Where the API server is, and the credentials and connections for it. */
export interface KubeAccess {
  readonly server: string;
  /** Namespace that the configuration names, if it does. */
  readonly namespace: string | undefined;
  /**
   * Adds credentials and the shared connections to a request. Credentials are read again each time, because they are
   * rotated.
   */
  readonly authentication: SecurityAuthentication;
  /** Closes the connections, and ends the calls that are under way on them. */
  readonly close: () => Promise<void>;
}

/** Credentials are read again after this time: a token in a pod is replaced well before it expires. */
const freshMs = 10_000;

/**
 * Uses the service account in a pod, else the file of KUBECONFIG, else `~/.kube/config`. Throws an Error that names the
 * source and its fault.
 */
export function findAccess(environment: Readonly<Record<string, string | undefined>>): KubeAccess {
  const config = new KubeConfig();
  const kubeconfig = environment['KUBECONFIG'] ?? '';
  const isPod = existsSync('/var/run/secrets/kubernetes.io/serviceaccount/token');
  const from = kubeconfig === '' ? (isPod ? 'the service account' : '~/.kube/config') : `KUBECONFIG (${kubeconfig})`;
  try {
    if (kubeconfig !== '') loadFiles(config, kubeconfig.split(delimiter).filter(Boolean));
    else if (isPod) config.loadFromCluster();
    else if (existsSync(defaultFile())) loadFile(config, defaultFile());
    else config.loadFromDefault();
  } catch (error) {
    throw new Error(`${from}: ${messageOf(error)}`, { cause: error });
  }
  const cluster = config.getCurrentCluster();
  if (cluster === null || config.getUsers().length === 0 || cluster.server === 'http://localhost:8080') {
    throw new Error(`${from}: expected a cluster, a user and a current context`);
  }
  const context = config.getContextObject(config.getCurrentContext());
  return { server: cluster.server, namespace: context?.namespace, ...shareConnections(config) };
}

const defaultFile = (): string => join(homedir(), '.kube', 'config');

function loadFile(config: KubeConfig, file: string): void {
  config.loadFromString(String(readBoundedFileSync(file, maxConfigurationBytes)));
  config.makePathsAbsolute(dirname(file));
}

/** Refuses files of the credentials that are not read to a bound by the library, which reads them after this. */
async function checkFiles(config: KubeConfig): Promise<void> {
  const user = config.getCurrentUser();
  const provider: unknown = user?.authProvider?.config;
  const token: unknown = isObject(provider) ? provider['tokenFile'] : undefined;
  const files = [config.getCurrentCluster()?.caFile, user?.certFile, user?.keyFile, token];
  for (const file of files) if (typeof file === 'string') await readBoundedFile(file, maxCertificateBytes);
}

/** KUBECONFIG may name several files, which count as one. */
function loadFiles(config: KubeConfig, [first = '', ...others]: readonly string[]): void {
  loadFile(config, first);
  for (const file of others) {
    const other = new KubeConfig();
    loadFile(other, file);
    config.mergeConfig(other);
  }
}

interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly dispatcher: Dispatcher;
  /** The options of the connections, as text. */
  readonly identity: string;
  readonly until: number;
}

/**
 * Makes all requests share one dispatcher while the certificates stay the same. `KubeConfig` itself makes a dispatcher,
 * and so a connection, for every request.
 */
function shareConnections(config: KubeConfig): Pick<KubeAccess, 'authentication' | 'close'> {
  let current: Credentials | undefined;

  async function read(): Promise<Credentials> {
    await checkFiles(config);
    const given: RequestOptions = {};
    await config.applyToHTTPSOptions(given);
    const { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername } = given;
    const tls = { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername };
    const defined = Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined));
    const wanted = config.createDispatcherOptions(config.getCurrentCluster(), defined);
    // The library makes the headers of the credentials, and the dispatchers that go through proxies.
    const probe = new RequestContext(config.getCurrentCluster()?.server ?? '', HttpMethod.GET);
    await config.applySecurityAuthentication(probe);
    const identity = JSON.stringify(wanted);
    let dispatcher = current?.identity === identity ? current.dispatcher : undefined;
    if (dispatcher === undefined) {
      void current?.dispatcher.close();
      const proxied = wanted.type === 'proxy' || wanted.type === 'socks' ? probe.getDispatcher() : undefined;
      // Over HTTP/2 all watches would share one connection, and all would hang when it goes dead.
      dispatcher = proxied ?? new Agent({ connect: { ...defined, ...keepAlive }, allowH2: false });
    }
    current = { headers: probe.getHeaders(), dispatcher, identity, until: performance.now() + freshMs };
    return current;
  }

  return {
    authentication: {
      getName: () => 'kubeconfig',
      applySecurityAuthentication: async (context) => {
        const { headers, dispatcher } =
          current !== undefined && performance.now() < current.until ? current : await read();
        for (const [name, value] of Object.entries(headers)) context.setHeaderParam(name, value);
        context.setDispatcher(dispatcher);
      },
    },
    close: async () => current?.dispatcher.destroy(),
  };
}

/** A load balancer on the way can drop an idle connection without notice. */
const keepAlive = { keepAlive: true, keepAliveInitialDelay: 30_000 };
