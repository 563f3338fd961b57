import { z } from 'zod';
import { logLevelSchema } from '../../core/log-level.ts';
import { searchForms, type SealFiles } from '../../core/web-search.ts';
import {
  accountNamespaces,
  imageHosts,
  maxSearchPrice,
  namespaceText,
  podText,
  port,
  searchPrice,
  searchProvider,
  valkeyAddress,
  wholeNumber,
} from './setting-forms.ts';

/** Read by the service and by its Envoy, which must agree. */
const responses = z
  .enum(['off', 'stateless'], 'expected off or stateless')
  .default('off')
  .describe(
    'Third surface, POST /v1/responses, which stores nothing: stateless turns it on; off: the path is answered like any unknown one.',
  );

/**
 * Every setting of `weir serve`. Each is an environment variable with the prefix `WEIR_`. `settingsHelp` prints
 * descriptions, defaults, bounds and choices from here.
 */
export const settingsSchema = z.object({
  WEIR_DATA: z
    .string()
    .min(1)
    .default('.weir')
    .describe(
      'Folder of the database, unless a URL names another, and of the journal, which must outlive the process.',
    ),
  WEIR_RUN: z.string().min(1).default('.weir/run').describe('Folder of the sockets that Envoy and the service share.'),
  WEIR_MANIFESTS: z.string().min(1).default('manifests').describe('Folder of Backend, Model and Secret objects.'),
  WEIR_TOKENIZERS: z
    .string()
    .min(1)
    .optional()
    .describe('Folder of the tokenizer folders that models name; default: tokenizers in the data folder.'),
  WEIR_DATABASE_URL: z
    .string()
    .min(1)
    .optional()
    .describe('Database, postgres://USER:PASSWORD@HOST:PORT/NAME or sqlite:PATH; default: SQLite in the data folder.'),
  WEIR_LEDGER_RETENTION_DAYS: wholeNumber(0, 36_500)
    .default(90)
    .describe(
      'Days for which the ledger keeps single requests, at least; PostgreSQL drops whole months. What they add up to is kept for good. 0: all are kept.',
    ),
  WEIR_VALKEY_URL: valkeyAddress
    .optional()
    .describe(
      'Valkey or Redis in which replicas share rate, concurrency, blocked addresses and their knowledge of endpoints: one server, or several URLs of a cluster with commas between them; default: memory.',
    ),
  WEIR_REPLICAS: wholeNumber(1, 10_000)
    .default(1)
    .describe(
      'Replicas that run, for the share of the limits that each keeps to until Valkey reports how many there are.',
    ),
  WEIR_KUBERNETES_NAMESPACE: z
    .string()
    .regex(namespaceText, 'expected the name of a namespace: lowercase letters, digits and "-"')
    .optional()
    .describe(
      'Namespace of the Backends and Models; set: the catalog comes from Kubernetes, in a pod by its service account, else by KUBECONFIG.',
    ),
  WEIR_ACCOUNT_NAMESPACES: accountNamespaces
    .optional()
    .describe(
      'Namespaces whose Workspaces, ApiKeys and Credits are brought into the ledger, with commas between them, besides the namespace of the Backends and Models; none: accounts are made with commands, the admin API and the portal alone. Default: only that namespace, or the manifest folder.',
    ),
  WEIR_POD_NAME: z
    .string()
    .regex(podText, 'expected the name of a pod: lowercase letters, digits, "-" and "."')
    .optional()
    .describe('Name of this replica among those of the namespace; default: the host name.'),
  WEIR_OPS_HOST: z
    .union([z.ipv4(), z.ipv6()], 'expected an IP address, such as 0.0.0.0')
    .default('127.0.0.1')
    .describe('Address that the ops port is on; 0.0.0.0 lets probes and scrapers of other hosts reach it.'),
  WEIR_OPS_PORT: port.default(9090).describe('Port of /metrics, /livez and /readyz; 0 takes a free one.'),
  WEIR_ABUSE_CONTACT: z.string().min(3).default('abuse@example.com').describe('Address named to suspended callers.'),
  WEIR_IDLE_SECONDS: wholeNumber(1, 86_400)
    .default(120)
    .describe(
      'Longest silence of an engine, seconds, before its attempt is given up; 10 times as long for an answer that does not stream. Comments do not count as payload.',
    ),
  WEIR_KEEP_ALIVE_SECONDS: wholeNumber(1, 3600)
    .default(15)
    .describe(
      'Silence towards a caller, seconds, after which the answer is begun and kept alive: with events on a stream, with white space before JSON.',
    ),
  WEIR_DRAIN_SECONDS: wholeNumber(0, 3600).default(30).describe('Time that open requests get to end when stopping.'),
  WEIR_IMAGE_HOSTS: imageHosts
    .default('any')
    .describe(
      'Hosts from which engines may fetch the images of a prompt: none, or a list such as images.example.com,*.example.org,10.0.0.5:8080; images sent as data: always go.',
    ),
  WEIR_WEB_SEARCH: searchProvider
    .optional()
    .describe(
      `Provider of web search: ${searchForms}, with the URL of an instance or the file of an API key; default: none, and web search is refused.`,
    ),
  WEIR_WEB_SEARCH_PRICE: searchPrice
    .default(0n)
    .describe(`What a search of the web is billed, USD from 0 to ${maxSearchPrice}, such as 0.005; default: 0.`),
  WEIR_SEAL_KEY_FILE: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Keys that seal what searches found, and reasoning on the third surface, 32 random bytes in base64 or hex on each line: the first one seals, all of them open; default: one that is made in the data folder, for a single replica.',
    ),
  WEIR_RESPONSES: responses,
  WEIR_BILLING_LINES: z
    .enum(['drop', 'keep'], 'expected drop or keep')
    .default('drop')
    .describe(
      'What becomes of the billing line that coding agents put before their system text: it differs from session to session, and would keep engines from sharing the beginnings of prompts.',
    ),
  WEIR_WEBHOOK_URL: z
    .url({ protocol: /^https?$/, error: 'expected an address such as https://hooks.example.com/weir' })
    .optional()
    .describe('Receiver of webhooks about thresholds that budgets and balances reach; default: none.'),
  WEIR_WEBHOOK_SECRET_FILE: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Secret that signs webhooks, whsec_ and 24 to 64 bytes in base64, read at each of them; several lines all sign. Needed with WEIR_WEBHOOK_URL.',
    ),
  WEIR_LOG_LEVEL: logLevelSchema
    .default('info')
    .describe('Least level that is logged; `weir log-level` changes it while the program runs.'),
  WEIR_LOG_FORMAT: z
    .enum(['json', 'text'], 'expected json or text')
    .optional()
    .describe(
      'Form of the log: json, or text for readers; default: text in a terminal, with colours unless NO_COLOR is set, and json elsewhere.',
    ),
});

export type Settings = z.infer<typeof settingsSchema>;

/** Every setting of the Envoy in front of the service, read by `weir start` and `weir envoy bootstrap`. */
export const envoySettingsSchema = z.object({
  WEIR_EDGE_HOST: z
    .union([z.ipv4(), z.ipv6()], 'expected an IP address, such as 0.0.0.0')
    .optional()
    .describe(
      'Address that Envoy listens on for callers; default: 127.0.0.1 for `weir start`, 0.0.0.0 for `weir envoy bootstrap`.',
    ),
  WEIR_RESPONSES: responses,
  WEIR_TRUSTED_HOPS: wholeNumber(0, 99).default(0).describe('Proxies in front of Envoy that are believed.'),
  WEIR_CONNECTIONS_PER_ADDRESS: wholeNumber(0, 1_000_000)
    .optional()
    .describe(
      'Connections that an address, or a /64 of IPv6, may have open at Envoy; further ones are closed. 0: any number, as behind trusted proxies; default: 2500, at most a third of all.',
    ),
  WEIR_UNAUTHENTICATED_IDLE_SECONDS: wholeNumber(0, 620)
    .default(15)
    .describe(
      'Time without a request, seconds, after which Envoy closes a connection of which no request was authenticated yet; 0: 620 s as for all others, as behind trusted proxies.',
    ),
  WEIR_ENVOY_OPS_PORT: port
    .optional()
    .describe(
      'Port on 127.0.0.1 where Prometheus finds the metrics of the Envoy that `weir start` runs; default: none.',
    ),
  WEIR_TLS_CERTIFICATE_FILE: z.string().optional().describe('PEM file; the edge then speaks TLS only.'),
  WEIR_TLS_KEY_FILE: z.string().optional().describe('PEM file of its key.'),
});

export type EnvoySettings = z.infer<typeof envoySettingsSchema>;

const serviceUrls = z.string().transform((text, context): readonly URL[] => {
  const urls = text.split(',').map((part) => URL.parse(part.trim()));
  const isOrigin = (url: URL | null): url is URL =>
    url !== null && url.protocol === 'http:' && url.href === `${url.origin}/`;
  if (urls.every(isOrigin)) return urls;
  context.addIssue({ code: 'custom', message: 'expected addresses such as http://127.0.0.1:9090, with commas' });
  return z.NEVER;
});

const { WEIR_DATA, WEIR_DATABASE_URL, WEIR_LOG_LEVEL, WEIR_LOG_FORMAT } = settingsSchema.shape;

/** Every setting of `weir portal`, described like the settings of `weir serve`. */
export const portalSettingsSchema = z.object({
  WEIR_DATA,
  WEIR_DATABASE_URL,
  WEIR_ADMIN_HOST: z
    .union([z.ipv4(), z.ipv6()], 'expected an IP address, such as 0.0.0.0')
    .default('127.0.0.1')
    .describe('Address of the portal and its admin API; beyond the loopback put a proxy with TLS in front of it.'),
  WEIR_ADMIN_PORT: port
    .default(9091)
    .describe('Port of the portal and its admin API; 0, or a port that another program has, takes a free one.'),
  WEIR_ADMIN_TOKEN_FILE: z
    .string()
    .min(1)
    .optional()
    .describe(
      'File of the admin token, 32 characters or more; default: admin-token in the data folder, which is made.',
    ),
  WEIR_ADMIN_TRUSTED_HOPS: wholeNumber(0, 100)
    .default(0)
    .describe('Proxies in front of the portal that are believed about the address of callers and about TLS.'),
  WEIR_SERVICES: serviceUrls
    .default([new URL('http://127.0.0.1:9090')])
    .describe(
      'Ops ports of the services, with commas: they report the live state. A host name with several addresses means all of them.',
    ),
  WEIR_ACCOUNT_METRICS: wholeNumber(0, 1_000)
    .default(200)
    .describe(
      'How many workspaces and keys the metrics of the portal name, those that spend most; 0: no metrics of accounts.',
    ),
  WEIR_PUBLIC_URL: z
    .url({ protocol: /^https?$/, error: 'expected an address such as https://models.example.com/v1' })
    .optional()
    .describe('Where clients call the models, with /v1: for the playground and the examples; default: no playground.'),
  WEIR_OIDC_ISSUER: z
    .url({
      protocol: /^https?$/,
      error: 'expected the address of an OpenID provider, such as https://accounts.example.com',
    })
    .optional()
    .describe('OpenID provider that people sign in with; needs WEIR_OIDC_CLIENT_ID and WEIR_ADMIN_URL.'),
  WEIR_OIDC_NAME: z
    .string()
    .min(1)
    .max(50)
    .optional()
    .describe('Its name on the sign-in page; default: its host name.'),
  WEIR_OIDC_CLIENT_ID: z.string().min(1).optional().describe('The portal, as the provider knows it.'),
  WEIR_OIDC_CLIENT_SECRET_FILE: z
    .string()
    .min(1)
    .optional()
    .describe('File of the secret that the provider knows the portal by; default: none, a public client.'),
  WEIR_OIDC_SCOPES: z
    .string()
    .regex(/(^| )openid( |$)/, 'expected scopes with spaces between them, openid among them')
    .default('openid profile email')
    .describe('Scopes to ask for, with spaces; some providers send groups only for a scope of their own.'),
  WEIR_OIDC_ADMINS: z
    .string()
    .default('')
    .transform((text, context) => {
      const names = text.split(',').map((name) => name.trim());
      return names.flatMap((name) => {
        if (name === '') return [];
        const [, kind, value = ''] = /^(sub|email|group):(.+)$/s.exec(name) ?? [];
        if (kind === 'sub' || kind === 'email' || kind === 'group') return [{ kind, value } as const];
        // An email address cannot be mistaken for a subject or a group, so `email:` may be left out.
        if (name.includes('@') && !name.includes(':')) return [{ kind: 'email', value: name } as const];
        context.addIssue({ code: 'custom', message: `"${name}": expected sub:SUBJECT, email:ADDRESS or group:NAME` });
        return [];
      });
    })
    .describe('Admins, with commas: sub:SUBJECT, email:ADDRESS (where the provider has verified it), group:NAME.'),
  WEIR_OIDC_GROUPS_CLAIM: z
    .string()
    .min(1)
    .default('groups')
    .describe(
      'Claim that lists groups; a person in a group with the name or id of a workspace is its owner, in NAME:member its member, in NAME:viewer its viewer.',
    ),
  WEIR_ADMIN_URL: z
    .url({ protocol: /^https?$/, error: 'expected an address such as https://weir.example.com' })
    .optional()
    .describe('Where browsers reach the portal; the provider must know /api/v1/oidc/callback under it.'),
  WEIR_LOG_LEVEL,
  WEIR_LOG_FORMAT,
});

export type PortalSettings = z.infer<typeof portalSettingsSchema>;

const allSettings = { ...portalSettingsSchema.shape, ...settingsSchema.shape, ...envoySettingsSchema.shape };

/** Every setting of `weir start`: the settings of the service, the portal and Envoy, and those of `weir start` alone. */
export const startSettingsSchema = z.object(allSettings).extend({
  // If one of these is unset, `weir start` uses its own folder or address.
  WEIR_DATA: z.string().min(1).optional(),
  WEIR_MANIFESTS: z.string().min(1).optional(),
  WEIR_SERVICES: serviceUrls.optional(),
  // 9090 is the port of Prometheus, which often runs on the same machine (docs/decisions/0070).
  WEIR_OPS_PORT: port
    .default(9190)
    .describe(
      'Port of /metrics, /livez and /readyz of the service, the next ones for the further services of --replicas; 0, or a port that another program has, takes a free one.',
    ),
  WEIR_WATCHDOG_SECONDS: wholeNumber(0, 9999)
    .default(15)
    .describe('Time after which a service or an Envoy that does not answer is ended and started again; 0: never.'),
  WEIR_UPSTREAM_KEY: z.string().optional().describe('Key of the engine of --upstream, which `ps` does not show.'),
});

export type StartSettings = z.infer<typeof startSettingsSchema>;

/** The settings of every program that keeps running. */
export type LogSettings = Pick<Settings, 'WEIR_LOG_LEVEL' | 'WEIR_LOG_FORMAT'>;

/**
 * The files of the keys that seal search results; undefined if nothing is sealed or opened. Throws if several replicas
 * would each make their own key.
 */
export function sealFiles(settings: Settings): SealFiles | undefined {
  const keyFile = settings.WEIR_SEAL_KEY_FILE;
  const isUsed = settings.WEIR_WEB_SEARCH !== undefined || settings.WEIR_RESPONSES !== 'off';
  if (!isUsed && keyFile === undefined) return undefined;
  const isShared = settings.WEIR_VALKEY_URL !== undefined || settings.WEIR_DATABASE_URL?.startsWith('postgres');
  if (keyFile === undefined && isShared) {
    throw new Error(
      'WEIR_SEAL_KEY_FILE: needed for web search and for WEIR_RESPONSES with a shared database or Valkey: what one replica seals, the others must open',
    );
  }
  return { keyFile, ownFile: `${settings.WEIR_DATA}/seal.key` };
}
