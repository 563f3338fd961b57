import { Agent as PlainAgent, type RequestOptions } from 'node:http';
import { Agent } from 'node:https';
import { existsSync } from 'node:fs';
import { delimiter } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { messageOf } from '../core/failure.ts';

/** Where the API server is and who we are there. */
export interface Access {
  readonly server: string;
  /** Namespace that the configuration names, if it does. */
  readonly namespace: string | undefined;
  /** Options of a request, credentials included: they are read anew as they are rotated. */
  readonly options: () => Promise<RequestOptions>;
  /** Closes what is kept open between requests. */
  readonly close: () => void;
}

type TlsOptions = Parameters<KubeConfig['applyToHTTPSOptions']>[0];

/** Credentials are looked at again after so long: a token in a pod is replaced well before it ends. */
const freshMs = 10_000;

/**
 * In a pod its service account, else what KUBECONFIG names, else `~/.kube/config`. Throws an Error that says which of
 * them was used and what is wrong with it.
 */
export function findAccess(environment: Readonly<Record<string, string | undefined>>): Access {
  const config = new KubeConfig();
  const kubeconfig = environment['KUBECONFIG'] ?? '';
  const isPod = existsSync('/var/run/secrets/kubernetes.io/serviceaccount/token');
  const from = kubeconfig === '' ? (isPod ? 'the service account' : '~/.kube/config') : `KUBECONFIG (${kubeconfig})`;
  try {
    if (kubeconfig !== '') loadFiles(config, kubeconfig.split(delimiter).filter(Boolean));
    else if (isPod) config.loadFromCluster();
    else config.loadFromDefault();
  } catch (error) {
    throw new Error(`${from}: ${messageOf(error)}`, { cause: error });
  }
  const cluster = config.getCurrentCluster();
  if (cluster === null || config.getUsers().length === 0 || cluster.server === 'http://localhost:8080') {
    throw new Error(`${from}: expected a cluster, a user and a current context`);
  }
  const context = config.getContextObject(config.getCurrentContext());
  return { server: cluster.server, namespace: context?.namespace, ...keepOptions(config, cluster.proxyUrl) };
}

/** KUBECONFIG may name several files, which count as one. */
function loadFiles(config: KubeConfig, [first = '', ...others]: readonly string[]): void {
  config.loadFromFile(first);
  for (const file of others) {
    const other = new KubeConfig();
    other.loadFromFile(file);
    config.mergeConfig(other);
  }
}

function keepOptions(config: KubeConfig, proxyUrl: string | undefined): Pick<Access, 'options' | 'close'> {
  let fresh: { readonly options: RequestOptions; readonly key: string; readonly until: number } | undefined;
  let agent: PlainAgent | undefined;

  async function read(): Promise<RequestOptions> {
    const given: TlsOptions = {};
    await config.applyToHTTPSOptions(given);
    const { ca, cert, key, headers, rejectUnauthorized, servername, auth } = given;
    const sent = Object.entries(headers ?? {}).map(([name, value]) => [name, String(value)]);
    const shared = { headers: Object.fromEntries(sent), ...(typeof auth === 'string' ? { auth } : {}) };
    // Their agents for proxies are as good as any; their plain one makes a connection per request.
    if (proxyUrl !== undefined && given.agent !== undefined) return { ...shared, agent: given.agent };
    const identity = JSON.stringify([String(ca), String(cert), String(key), rejectUnauthorized, servername]);
    if (agent === undefined || fresh?.key !== identity) {
      agent?.destroy();
      const tls = {
        ...{ ca, cert, key, rejectUnauthorized, servername },
        // Connections that nobody watches over die unseen, in a load balancer on the way for one.
        ...{ keepAlive: true, keepAliveMsecs: 30_000, maxFreeSockets: 8 },
      };
      const defined = Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined));
      agent = new (config.getCurrentCluster()?.server.startsWith('http:') === true ? PlainAgent : Agent)(defined);
    }
    const options = { ...shared, agent };
    fresh = { options, key: identity, until: performance.now() + freshMs };
    return options;
  }

  return {
    options: async () => (fresh !== undefined && performance.now() < fresh.until ? fresh.options : read()),
    close: () => agent?.destroy(),
  };
}
