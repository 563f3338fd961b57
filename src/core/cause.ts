/**
 * Why an attempt at an engine failed, in words for operators: one closed table. Conditions, problems, `weir explain`, the
 * log and the metrics take the cause from here. Callers never see it.
 */
export interface CauseRow {
  /** What the engine does, after its name: `vllm-a refuses connections`. */
  readonly says: string;
  /** The same in at most six words, for tables. */
  readonly words: string;
  /** What the operator can do about it. */
  readonly action: string;
  /** The person who can take the action. */
  readonly who: keyof typeof actors;
}

/** The persons who can end a cause. `nobody`: the cause ends without an action, or is not a fault. */
export const actors = {
  gateway: 'the gateway operator',
  engine: 'the engine operator',
  account: 'the provider account’s owner',
  nobody: 'nobody',
} as const;

/** Makes the rows of one person. `words`: if `says` has more than six. */
const rowsOf =
  (who: CauseRow['who']) =>
  (says: string, action: string, words = says): CauseRow => ({ says, words, action, who });
const [gateway, engine, account, nobody] = [rowsOf('gateway'), rowsOf('engine'), rowsOf('account'), rowsOf('nobody')];

/** Causes by which no connection is made. */
const unreachable = {
  'connection-refused': engine('refuses connections', 'Start the engine, or correct host and port in spec.endpoint'),
  'no-such-host': gateway(
    'has a host name that DNS cannot resolve',
    'Correct the host in spec.endpoint, or the gateway’s DNS',
    'has a host name without address',
  ),
  'connect-timeout': gateway(
    'does not answer a connection in time',
    'Check the address, network policies and firewalls on the way',
    'does not answer connections in time',
  ),
  'no-route': gateway('has no network route', 'Check the address, and the network between gateway and engine'),
  'fails-health-check': engine('passes no health check', 'Start or repair the engine, or correct spec.healthCheck'),
  'not-in-envoy': gateway('is not in Envoy yet', 'Read the reason in Envoy’s log'),
  'connect-failed': gateway('cannot be connected to', 'Check host, port and TLS in spec.endpoint'),
};

/** Causes in the TLS of the connection. */
const withoutTls = {
  'certificate-expired': engine(
    'has an expired certificate, or one that is not valid yet',
    'Renew the engine’s certificate',
    'has an expired certificate',
  ),
  'certificate-unknown-authority': gateway(
    'has a certificate of an unknown authority',
    'Name the authority in spec.endpoint.tls, or give the engine a certificate of a known one',
    'has an untrusted certificate',
  ),
  'certificate-other-name': gateway(
    'has a certificate for another host name',
    'Correct the host, or the server name in spec.endpoint.tls',
    'has another host’s certificate',
  ),
  'certificate-required': gateway(
    'requires a client certificate, or refuses the one it got',
    'Give the Backend a client certificate that the engine accepts',
    'requires another client certificate',
  ),
  'no-tls': gateway(
    'speaks plain HTTP where TLS is expected',
    'Use http:// in spec.endpoint, or the engine’s TLS port',
    'speaks plain HTTP, not TLS',
  ),
  'tls-expected': gateway(
    'expects TLS, but gets plain HTTP',
    'Use https:// in spec.endpoint',
    'expects TLS, not plain HTTP',
  ),
  'tls-failed': engine(
    'fails the TLS handshake',
    'Compare the TLS versions and ciphers of the engine with those of Envoy',
  ),
};

/** Causes of an engine that answers, and refuses. */
const refusing = {
  'credential-refused': gateway('refuses the credential', 'Correct the key in the Backend’s Secret', 'refuses its key'),
  'no-quota': account('has no money or quota left', 'Top up the account at the provider, or raise its limit'),
  'no-such-model': gateway(
    'has no such model',
    'Correct upstreamModel in the route: `weir doctor` lists the names that the engine has',
  ),
  'no-such-path': gateway('has no such path', 'Correct the path in spec.endpoint: most engines have the API below /v1'),
  redirects: gateway('redirects to another address', 'Put the address to which it redirects in spec.endpoint'),
  'not-an-api': gateway(
    'answers with a page instead of an API',
    'Correct the address: a proxy, a login page or another program answers',
    'answers with a web page',
  ),
  'refuses-parameter': gateway(
    'refuses a parameter that the gateway sends',
    'Correct spec.engine, or the route’s capabilities',
    'refuses a parameter',
  ),
  'no-tool-parser': engine(
    'has no tool parser, or does not choose tools by itself',
    'Start the engine with a tool parser, or remove tools from the route’s capabilities',
    'has no tool parser',
  ),
  'no-chat-template': engine(
    'has no chat template',
    'Start the engine with a chat template, or serve a model that has one',
  ),
  'batch-too-small': engine(
    'has a physical batch size below the length of an input',
    'Start llama-server with --batch-size and --ubatch-size of at least the model’s contextLength',
    'has too small a physical batch',
  ),
  'too-many-inputs': gateway(
    'accepts fewer inputs in a call than it gets',
    'Set embedding.maxInputs of the Model, or raise the engine’s limit',
    'takes fewer inputs in a call',
  ),
  misconfigured: engine(
    'is not configured for the requests that it gets',
    'Check spec.engine, the path, and the options that the engine was started with',
    'is not configured for these requests',
  ),
  'refuses-request': gateway(
    'refuses requests in this form',
    'Check spec.engine, and `weir explain` of a request that failed',
  ),
  'context-length': gateway(
    'has a shorter context than the model declares',
    'Correct contextLength, or start the engine with a longer context',
    'has a shorter context than declared',
  ),
  'content-policy': nobody('refuses prompts by its content policy', 'Nothing: the provider judges each prompt'),
};

/** Causes of an engine that could answer later. */
const busy = {
  loading: nobody(
    'is loading its model',
    'Wait until the model is loaded; a health check keeps requests away until then',
  ),
  'rate-limited': account('is at its rate limit', 'Raise the limit at the provider, or add a route'),
  full: engine('is full', 'Add endpoints, or lower spec.capacity so that requests wait in the gateway'),
  'out-of-memory': engine('ran out of memory', 'Give the engine more memory, or fewer and shorter requests at a time'),
};

/** Causes of an answer that is of no use. */
const broken = {
  'server-error': engine('reports an internal error', 'Read the engine’s log'),
  'breaks-off': engine(
    'breaks off its answers',
    'Read the engine’s log, and check the timeouts of proxies in front of it',
  ),
  silent: engine('falls silent', 'Read the engine’s log; if it only needs longer, raise the silence limits'),
  unreadable: gateway(
    'answers in a form that cannot be read',
    'Correct spec.engine; `weir engine check` shows what it answers',
    'sends answers that cannot be read',
  ),
  'wrong-structure': gateway(
    'does not follow the requested structure',
    'Check that the engine supports structured output and tool choice',
    'breaks the structure asked for',
  ),
  'cannot-continue': nobody(
    'does not continue answers where they broke off',
    'Run `weir doctor BACKEND --deep`. If continuation is bad, set the route’s capabilities.continuation to false',
    'does not continue broken answers',
  ),
};

export const causes = { ...unreachable, ...withoutTls, ...refusing, ...busy, ...broken };

export type Cause = keyof typeof causes;

const namesOf = (...rows: readonly object[]): ReadonlySet<string> => new Set(rows.flatMap(Object.keys));
/** Causes in the TLS of a connection, and all by which there is none: any answer of the engine rules them out. */
export const ofTls = namesOf(withoutTls);
export const ofConnection = namesOf(unreachable, withoutTls);
/** Causes that only a repair ends. With all others, the same request may be answered later. */
export const endedByRepair = namesOf(withoutTls, refusing);
/** The cause of a name, for example in a file; undefined: it is of another version. */
export const causeNamed = (name: string | undefined): Cause | undefined =>
  // oxlint-disable-next-line typescript/consistent-type-assertions -- `in` does not narrow a string to the keys
  name !== undefined && Object.hasOwn(causes, name) ? (name as Cause) : undefined;

/** Reasons that are not the name of their cause. */
const reasons: Readonly<Record<string, string>> = {
  'no-route': 'NoNetworkRoute',
  'fails-health-check': 'NoHealthyEndpoint',
  'not-in-envoy': 'MissingInEnvoy',
  'refuses-parameter': 'ParameterRefused',
  'refuses-request': 'RequestsRefused',
  'context-length': 'ContextTooShort',
};

/** The reason of the Backend's condition: one word in CamelCase. */
export const causeReason = (cause: string): string =>
  reasons[cause] ?? cause.replaceAll(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());

/** The engine's state in at most six words, to follow its name: `refuses its key`. */
export const causeWords = (cause: Cause): string => causes[cause].words;

/** What an engine does, with the HTTP status that shows it: `refuses the credential (HTTP 401)`. */
export function causeText(cause: Cause, status: number | undefined): string {
  const { says } = causes[cause];
  return status === undefined ? says : `${says} (HTTP ${status})`;
}

/** The engine's own sentence (`Fault.said`) as the end of a text about it. */
export const saidText = (said: string | undefined): string => (said === undefined ? '' : `; it says “${said}”`);
